// Spends, between two full collections that this program asks for, so that the collector's own trace shows what was
// collected between them: run with --trace-gc --expose-gc.
import { parseArgs } from 'node:util'
import { visitsOf } from '../random.ts'
import { candidateOf, type SubjectName } from './subjects.ts'

const { values } = parseArgs({
  options: { subject: { type: 'string' }, callers: { type: 'string' }, spends: { type: 'string' } },
})
const callers = Number(values.callers)
const spends = Number(values.spends)
const collectGarbage = globalThis.gc
if (collectGarbage === undefined) throw new Error('run with node --trace-gc --expose-gc')

const { names, make } = candidateOf(values.subject as SubjectName)
const subject = await make({ callers, maxMemoryMib: 64 }, names)
await subject.fill(0, callers)
const spend = subject.prepare(visitsOf(callers, callers))
// Until it is compiled as it will stay.
for (let done = 0; done < spends / 5; done += callers) await spend(0, callers)

collectGarbage()
for (let done = 0; done < spends; done += callers) await spend(0, callers)
collectGarbage()
