import t from 'tap'
import type { HoldOptions } from '../../src/policy/bound-options.ts'
import { parseHolds } from '../../src/policy/holds.ts'
import { deepFreeze, objectsIn } from './deep-freeze.ts'
import { linesOf } from './refused.ts'

const ok: HoldOptions<unknown> = { name: 'stream', per: 'address', count: 256, retryDelaySeconds: 1 }
const isRead = () => true

t.test('holds come out with their defaults, frozen', async (t) => {
  const written: readonly HoldOptions<unknown>[] = [
    ok,
    {
      ...ok,
      name: 'own',
      per: 'user',
      appliesTo: { roles: ['a'] },
      count: 1_000_000_000,
      retryDelaySeconds: 8_640_000,
      maxKeys: 1_000_000,
    },
    { ...ok, name: 'read', per: isRead as never, appliesTo: {}, needsIdentity: true },
  ]
  const parsed = parseHolds(deepFreeze(written))
  t.strictSame(parsed, [
    { ...ok, appliesTo: undefined, needsIdentity: false, maxKeys: 10_000 },
    { ...written[1]!, appliesTo: { roles: ['a'], authTypes: [] }, needsIdentity: true, maxKeys: 1_000_000 },
    { ...written[2]!, appliesTo: undefined, maxKeys: 10_000 },
  ])
  t.ok([...objectsIn(parsed)].every(Object.isFrozen))
  t.strictSame(parseHolds([]), [])
  const snake = { name: 'stream', per: 'address', count: 256, retry_delay_seconds: 1, applies_to: { auth_types: [] } }
  t.strictSame(parseHolds([snake]), [parsed[0]])
})

const KEYS = 'name, per, appliesTo, needsIdentity, count, retryDelaySeconds, maxKeys'
const COUNT = 'must be a whole number from 1 to 1000000000'
const DELAY = 'must be a whole number from 1 to 8640000'

// one row for each way to get it wrong that bounds have not
const rows: readonly [name: string, input: unknown, ...lines: string[]][] = [
  ['no list', null, 'holds: must be a list of holds, got null'],
  ['a name alone', ['stream'], `holds[0]: must be an object with the keys ${KEYS}, got "stream"`],
  ['count 0', [{ ...ok, count: 0 }], `holds[0].count: ${COUNT}, got 0`],
  ['half a hold', [{ ...ok, count: 0.5 }], `holds[0].count: ${COUNT}, got 0.5`],
  ['no count', [{ ...ok, count: undefined }], `holds[0].count: is missing; ${COUNT}`],
  ['no delay', [{ ...ok, retryDelaySeconds: undefined }], `holds[0].retryDelaySeconds: is missing; ${DELAY}`],
  ['delay 0', [{ ...ok, retryDelaySeconds: 0 }], `holds[0].retryDelaySeconds: ${DELAY}, got 0`],
  ['a delay in text', [{ ...ok, retryDelaySeconds: '1s' }], `holds[0].retryDelaySeconds: ${DELAY}, got "1s"`],
  [
    'one name twice',
    [ok, ok],
    'holds[1].name: must differ from the name of [0] in the same list, got "stream" in both',
  ],
  [
    'the name of the limits of rateLimits',
    [{ ...ok, name: 'caller' }],
    'holds[0].name: must not be "caller", which the limits of rateLimits are called',
  ],
  [
    'identity without a function',
    [{ ...ok, needsIdentity: false }],
    'holds[0].needsIdentity: stands only beside a function in per or appliesTo; of everything else it is known',
  ],
  ['limits', [{ ...ok, limits: [] }], `holds[0]: unknown key "limits"; known keys: ${KEYS}`],
]

for (const [name, input, ...lines] of rows) {
  t.test(`refused: ${name}`, async (t) => {
    t.strictSame(
      linesOf(() => parseHolds(input)),
      lines,
    )
  })
}
