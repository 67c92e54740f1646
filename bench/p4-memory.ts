import { join } from 'node:path'
import type { SubjectName } from './functions/subjects.ts'
import type { KeysSetup } from './memory/keys-child.ts'
import type { Held } from './memory/process-memory.ts'
import type { TableFindings, TableSetup } from './memory/table-child.ts'
import { Child, withChildren } from './processes/child.ts'
import type { Benchmark, Series, Target } from './result.ts'
import type { Sizes } from './sizes.ts'

const limitCounts = [1, 2, 3]
const TABLE_MIB = 32
const peers: readonly SubjectName[] = ['rate-limiter-flexible', '@fastify/rate-limit', 'Map get and set']
const MAX_BYTES = 40
/** What compiled code and the like may take more or less from one collection to the next. */
const NO_GROWTH_BYTES = 2 * 1024 * 1024
const MIB = 2 ** 20
/** V8 would give its young generation more room the more garbage is made, which is not what is asked. */
const STEADY_HEAP = ['--min-semi-space-size=16', '--max-semi-space-size=16']

/** P4: memory. */
export const p4: Benchmark<Sizes> = {
  id: 'P4',
  title: 'memory of a remembered caller and category, and growth in a flood of fresh callers',
  async run({ sizes: { keys, freshCallers }, progress }) {
    progress(`a flood of ${freshCallers} fresh callers, beside the memory of tables and peers`)
    const [flood, tables, peerKeys] = await Promise.all([
      alone<Held & { bytes: number }>('flood-child.ts', { callers: freshCallers }),
      one(limitCounts, (limits) =>
        alone<TableFindings>('table-child.ts', {
          limits,
          maxMemoryMib: TABLE_MIB,
          callers: 3 * keys,
        } satisfies TableSetup),
      ),
      one(peers, (subject) => alone<Held>('keys-child.ts', { subject, keys } satisfies KeysSetup)),
    ])
    const bytes = (name: string, value: number): Series => ({ name, unit: 'bytes', rounds: [value] })
    const series = [
      ...tables.flatMap(({ allocated, javascript, resident, roomy }, i) => {
        const name = `fastify-allowance, limits: ${limitCounts[i]}`
        return [
          bytes(`${name}, allocated for a slot`, allocated),
          bytes(`${name}, table full: JavaScript's memory for a caller remembered`, javascript),
          bytes(`${name}, table full: resident memory for a caller remembered`, resident),
          ...(roomy === null ? [] : [bytes(`${name}, so empty that 1 % are forgotten: for a caller`, roomy)]),
        ]
      }),
      ...peers.flatMap((peer, i) => [
        bytes(`${peer}: JavaScript's memory for a key`, peerKeys[i]!.javascript),
        bytes(`${peer}: resident memory for a key`, peerKeys[i]!.resident),
      ]),
      bytes('fastify-allowance: all it has allocated, by default', flood.bytes),
    ]
    const targets: Target[] = [
      ...tables.flatMap(({ allocated, javascript }, i) => [
        {
          what: `limits: ${limitCounts[i]}, allocated for a slot`,
          value: allocated,
          unit: ' bytes',
          atMost: MAX_BYTES,
        },
        {
          what: `limits: ${limitCounts[i]}, measured for a caller remembered, the table full, in whole bytes`,
          value: Math.round(javascript),
          unit: ' bytes',
          atMost: MAX_BYTES,
        },
      ]),
      ...(['javascript', 'resident'] as const).map((memory) => ({
        what: `growth in a flood of ${freshCallers.toLocaleString('en')} fresh callers, ${memory === 'javascript' ? "JavaScript's memory" : 'resident memory'}`,
        value: flood[memory] / MIB,
        unit: ' MiB',
        atMost: NO_GROWTH_BYTES / MIB,
      })),
    ]
    return {
      series,
      targets,
      notes: [
        `JavaScript's memory: heap and all outside of it after full collections. Peers with ${keys.toLocaleString('en')} keys such as "client-00012345" and one limit, their keys included; they keep one more set of them for each category. The flood is spent from raw API keys, after as many as there are slots, with V8's young generation of a fixed size; growth is from the end of its first tenth to its end, after full collections. No growth: less than 2 MiB, which compiled code and pages of the heap may take.`,
      ],
    }
  },
}

function alone<T>(program: string, setup: unknown): Promise<T> {
  const path = join(import.meta.dirname, 'memory', program)
  return withChildren([() => Child.start(path, setup, ['--expose-gc', ...STEADY_HEAP])], ([child]) =>
    child!.ask<T>('measure'),
  )
}

/** One after another. */
async function one<Of, T>(list: readonly Of[], measure: (each: Of) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (const each of list) results.push(await measure(each))
  return results
}
