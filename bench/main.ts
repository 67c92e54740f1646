/**
 * What the plugin costs, beside its peers and beside doing nothing: `npm run bench`, or `npm run bench -- --only P1,P4`.
 * Writes bench/results/results.md and results.json; of some benchmarks only, into bench/results/partial. Progress goes to
 * stderr, and what is found to stdout. A target that is not met is no error.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { installTools } from '../scripts/install-tools.ts'
import { benchmarks, overHttp } from './benchmarks.ts'
import { surroundings } from './machine.ts'
import { markdownOf, type Report, type Result, verdictsOf } from './report.ts'
import { fullSizes, smokeSizes } from './sizes.ts'

const { values } = parseArgs({
  options: { only: { type: 'string' }, smoke: { type: 'boolean', default: false }, out: { type: 'string' } },
})

const ids = values.only?.split(',') ?? benchmarks.map(({ id }) => id)
const unknown = ids.filter((id) => !benchmarks.some((benchmark) => benchmark.id === id))
if (unknown.length > 0) {
  console.error(`--only ${unknown.join(',')}: must be of ${benchmarks.map(({ id }) => id).join(', ')}`)
  process.exit(1)
}
const out = values.out ?? join(import.meta.dirname, 'results', values.only === undefined ? '' : 'partial')
if (ids.some((id) => overHttp.has(id))) installTools({ h2load: 'nghttp2-client' }, 'the benchmarks')

const began = new Date()
const where = surroundings()
const results: Result[] = []
for (const { id, title, run } of benchmarks.filter((benchmark) => ids.includes(benchmark.id))) {
  const start = performance.now()
  const progress = (text: string) => process.stderr.write(`${id}  ${text}\n`)
  const findings = await run({ sizes: values.smoke ? smokeSizes : fullSizes, progress })
  const result = { id, title, ...findings, seconds: secondsSince(start) }
  results.push(result)
  console.log(verdictsOf(result))
}
const report: Report = {
  date: began.toISOString(),
  seconds: (Date.now() - began.getTime()) / 1000,
  smoke: values.smoke,
  surroundings: where,
  results,
}
mkdirSync(out, { recursive: true })
writeFileSync(join(out, 'results.json'), `${JSON.stringify(report, null, 2)}\n`)
writeFileSync(join(out, 'results.md'), markdownOf(report))
console.error(`${join(out, 'results.md')}, ${Math.round(report.seconds)} s`)

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000
}
