import { parse as parseToml } from 'smol-toml'
import t from 'tap'
import type { BoundOptions } from '../../src/policy/bound-options.ts'
import { parseBounds } from '../../src/policy/bounds.ts'
import type { LimitOptions } from '../../src/policy/options.ts'
import { deepFreeze, objectsIn } from './deep-freeze.ts'
import { linesOf } from './refused.ts'

type Request = { readonly url: string }

const categories = ['request', 'publish']
const limits: readonly LimitOptions[] = [{ count: 5, window: 'PT1M' }]
const bySender = (request: Request) => request.url
const isRead = () => true
const everyKind: readonly LimitOptions[] = [
  { kind: 'sliding_window', count: 1, window: 1 },
  { kind: 'sliding_log', count: 1, window: 1 },
  { kind: 'epoch', count: 1, epoch: () => 1 },
  { kind: 'blocked' },
]

const parse = (bounds: readonly BoundOptions<Request>[]) => parseBounds<Request>(bounds, categories)
const parseOne = (bound: Partial<BoundOptions<Request>>) => parse([{ name: 'a', per: 'address', limits, ...bound }])[0]!

t.test('a bound comes out with its defaults', async (t) => {
  t.strictSame(parse([{ name: 'sender', per: 'caller', limits }]), [
    {
      name: 'sender',
      per: 'caller',
      appliesTo: undefined,
      needsIdentity: true,
      category: 'request',
      limits: [{ count: 5, windowSeconds: 60 }],
      maxKeys: undefined,
      overflow: 'forget',
    },
  ])
  t.strictSame(parse([]), [])
})

t.test('a bound comes out as it is written, in the order of the list, and frozen', async (t) => {
  const written: readonly BoundOptions<Request>[] = [
    {
      name: 'sender',
      per: bySender,
      appliesTo: { roles: ['reader', 'writer'], authTypes: ['jwt'] },
      needsIdentity: true,
      category: 'publish',
      limits: [],
      maxKeys: 1_000_000,
      overflow: 'share',
    },
    { name: `${'x'.repeat(60)}_.-0`, per: 'everyone', appliesTo: isRead, limits, category: 'request' },
  ]
  const parsed = parse(written)
  t.strictSame(parsed, [
    written[0]!,
    { ...written[1]!, needsIdentity: false, limits: [{ count: 5, windowSeconds: 60 }], maxKeys: 1, overflow: 'forget' },
  ])
  t.ok([...objectsIn(parsed)].every(Object.isFrozen))
  t.notOk([...objectsIn(written)].some(Object.isFrozen), 'what was written is not')
  t.doesNotThrow(() => parse(deepFreeze(written)))
})

t.test('a config file', async (t) => {
  const file = parseToml(`
    [[bounds]]
    name = "per-user"
    per = "user"
    applies_to = { auth_types = ["jwt", "api_key"], roles = [] }
    limits = [{ kind = "sliding_window", count = 100, window = "1h 20min" }]
    max_keys = 50
  `)
  t.match(parseBounds(file.bounds, categories, 'config.bounds'), [
    {
      appliesTo: { roles: [], authTypes: ['jwt', 'api_key'] },
      maxKeys: 50,
      limits: [{ kind: 'sliding_window', count: 100, windowSeconds: 4800 }],
    },
  ])
  const [bound] = file.bounds as [object]
  const wrong = [{ ...bound, max_keys: 0, applies_to: { auth_types: ['JWT'] } }]
  t.strictSame(
    linesOf(() => parseBounds(wrong, categories, 'config.bounds')),
    [
      'config.bounds[0].applies_to.auth_types[0]: must be "api_key", "jwt" or "ip", got "JWT" (did you mean "jwt"?)',
      'config.bounds[0].max_keys: must be a whole number from 1 to 1000000, got 0',
    ],
  )
})

t.test('whom nothing is said of is everybody', async (t) => {
  for (const appliesTo of [undefined, {}, { roles: [] }, { authTypes: [] }, { roles: [], authTypes: [] }]) {
    t.equal(parseOne({ appliesTo }).appliesTo, undefined)
    t.equal(parseOne({ appliesTo }).needsIdentity, false)
  }
  t.strictSame(parseOne({ appliesTo: { roles: ['a'] } }).appliesTo, { roles: ['a'], authTypes: [] })
  t.equal(parseOne({ appliesTo: isRead }).appliesTo, isRead)
})

t.test('what needs identity', async (t) => {
  for (const per of ['caller', 'user', 'token', 'organisation'] as const) {
    t.equal(parseOne({ per }).needsIdentity, true, per)
    t.equal(parseOne({ per, appliesTo: isRead }).needsIdentity, true, `${per}, some`)
    t.equal(parseOne({ per, appliesTo: isRead, needsIdentity: true }).needsIdentity, true, `${per}, some, said`)
  }
  for (const per of ['address', 'subnet', 'route', 'everyone'] as const) {
    t.equal(parseOne({ per }).needsIdentity, false, per)
    t.equal(parseOne({ per, appliesTo: isRead }).needsIdentity, false, `${per}, some`)
    t.equal(parseOne({ per, appliesTo: isRead, needsIdentity: true }).needsIdentity, true, `${per}, some, said`)
    t.equal(parseOne({ per, appliesTo: { authTypes: ['ip'] } }).needsIdentity, true, `${per}, by auth type`)
    t.equal(parseOne({ per, appliesTo: { roles: ['a'] } }).needsIdentity, true, `${per}, by role`)
  }
  t.equal(parseOne({ per: bySender }).needsIdentity, false)
  t.equal(parseOne({ per: bySender, needsIdentity: false }).needsIdentity, false)
  t.equal(parseOne({ per: bySender, needsIdentity: true }).needsIdentity, true)
  t.equal(parseOne({ per: bySender, appliesTo: { roles: ['a'] } }).needsIdentity, true)
})

t.test('how many keys are tracked', async (t) => {
  t.equal(parseOne({}).maxKeys, undefined, 'as many as the fixed table has room for')
  t.equal(parseOne({ limits: [] }).maxKeys, undefined)
  t.equal(parseOne({ maxKeys: 7 }).maxKeys, 7)
  for (const limit of everyKind) {
    t.equal(parseOne({ limits: [limit] }).maxKeys, 10_000, `${limit.kind}`)
    t.equal(parseOne({ limits: [{ count: 1, window: 9 }, limit] }).maxKeys, 10_000, `${limit.kind} beside another`)
    t.equal(parseOne({ limits: [limit], maxKeys: 7 }).maxKeys, 7, `${limit.kind} said`)
    t.equal(parseOne({ limits: [limit], overflow: 'share' }).overflow, 'share', `${limit.kind} shared`)
    t.equal(parseOne({ limits: [limit], per: 'everyone' }).maxKeys, 1, `${limit.kind} for everyone`)
  }
  t.equal(parseOne({ per: 'everyone' }).maxKeys, 1)
  t.equal(parseOne({ per: 'everyone', limits: [] }).maxKeys, 1)
  t.equal(parseOne({ maxKeys: 1, overflow: 'share' }).overflow, 'share')
  t.equal(parseOne({ overflow: 'forget' }).overflow, 'forget')
})

const ok = { name: 'a', per: 'address', limits }
const PER =
  'must be "caller", "address", "subnet", "user", "token", "organisation", "route", "everyone" or a function of the request'
const NAME = 'must be a name of 1 to 64 characters of a-z, 0-9, "_", "." and "-"'
const KEYS = 'name, per, appliesTo, needsIdentity, category, limits, maxKeys, overflow'
const WHOM = 'must be an object with the keys roles, authTypes, or a function of the request'
const KNOWN = 'stands only beside a function in per or appliesTo; of everything else it is known'
const MAX_KEYS = 'must be a whole number from 1 to 1000000'
const SHARE = '"share" needs maxKeys, or a limit of another kind than "earned_back"'
const ONE_KEY = 'cannot stand beside per "everyone", which has one key'

// one row for each way to get it wrong
const rows: readonly [name: string, input: unknown, ...lines: string[]][] = [
  ['no list', undefined, 'bounds: is missing; must be a list of bounds'],
  ['one bound without its list', {}, 'bounds: must be a list of bounds, got {}'],
  ['a list of nothing', [null], `bounds[0]: must be an object with the keys ${KEYS}, got null`],
  [
    'nothing said',
    [{}],
    `bounds[0].name: is missing; ${NAME}`,
    `bounds[0].per: is missing; ${PER}`,
    'bounds[0].limits: is missing; must be a list of up to 3 limits',
  ],
  [
    'an unknown key',
    [
      { ...ok, window: 60 },
      { ...ok, name: 'b', limit: [] },
    ],
    `bounds[0]: unknown key "window"; known keys: ${KEYS}`,
    `bounds[1]: unknown key "limit" (did you mean "limits"?); known keys: ${KEYS}`,
  ],
  ['an empty name', [{ ...ok, name: '' }], `bounds[0].name: ${NAME}, got ""`],
  ['a name in capitals', [{ ...ok, name: 'Sender' }], `bounds[0].name: ${NAME}, got "Sender"`],
  ['a name with a line break', [{ ...ok, name: 'a\n' }], `bounds[0].name: ${NAME}, got "a\\n"`],
  ['a name too long', [{ ...ok, name: 'x'.repeat(65) }], `bounds[0].name: ${NAME}, got "${'x'.repeat(58)}…`],
  ['a name that is a list', [{ ...ok, name: ['a'] }], `bounds[0].name: ${NAME}, got [ 'a' ]`],
  [
    'the name of the limits of rateLimits',
    [{ ...ok, name: 'caller' }],
    'bounds[0].name: must not be "caller", which the limits of rateLimits are called',
  ],
  [
    'one name twice',
    [ok, { ...ok, name: 'b' }, { ...ok, per: 'user' }],
    'bounds[2].name: must differ from the name of [0] in the same list, got "a" in both',
  ],
  ['per misspelt', [{ ...ok, per: 'adress' }], `bounds[0].per: ${PER}, got "adress" (did you mean "address"?)`],
  ['per something else', [{ ...ok, per: 'planet' }], `bounds[0].per: ${PER}, got "planet"`],
  ['per a list', [{ ...ok, per: ['user'] }], `bounds[0].per: ${PER}, got [ 'user' ]`],
  ['applies to a list', [{ ...ok, appliesTo: ['admin'] }], `bounds[0].appliesTo: ${WHOM}, got [ 'admin' ]`],
  ['applies to a role alone', [{ ...ok, appliesTo: 'admin' }], `bounds[0].appliesTo: ${WHOM}, got "admin"`],
  ['applies to null', [{ ...ok, appliesTo: null }], `bounds[0].appliesTo: ${WHOM}, got null`],
  [
    'applies to a key misspelt',
    [{ ...ok, appliesTo: { role: ['a'] } }],
    'bounds[0].appliesTo: unknown key "role" (did you mean "roles"?); known keys: roles, authTypes',
  ],
  [
    'roles that are no list, auth types that are none',
    [{ ...ok, appliesTo: { roles: 'admin', authTypes: ['apikey', 'jwt', 3] } }],
    'bounds[0].appliesTo.roles: must be a list of roles, got "admin"',
    'bounds[0].appliesTo.authTypes[0]: must be "api_key", "jwt" or "ip", got "apikey" (did you mean "api_key"?)',
    'bounds[0].appliesTo.authTypes[2]: must be "api_key", "jwt" or "ip", got 3',
  ],
  [
    'roles without a name',
    [{ ...ok, appliesTo: { roles: ['', 7] } }],
    'bounds[0].appliesTo.roles[0]: must be the name of a role, got ""',
    'bounds[0].appliesTo.roles[1]: must be the name of a role, got 7',
  ],
  ['identity as text', [{ ...ok, needsIdentity: 'no' }], 'bounds[0].needsIdentity: must be true or false, got "no"'],
  ['identity without a function', [{ ...ok, needsIdentity: true }], `bounds[0].needsIdentity: ${KNOWN}`],
  [
    'identity without a function, snake_case',
    [{ ...ok, per: 'user', applies_to: { roles: [] }, needs_identity: false }],
    `bounds[0].needs_identity: ${KNOWN}`,
  ],
  [
    'a user without identity',
    [{ ...ok, per: 'user', appliesTo: isRead, needsIdentity: false }],
    'bounds[0].needsIdentity: must be true or left out, as per "user" goes by identity, got false',
  ],
  [
    'roles without identity',
    [{ ...ok, per: bySender, appliesTo: { roles: ['a'] }, needsIdentity: false }],
    'bounds[0].needsIdentity: must be true or left out, as roles and authTypes go by identity, got false',
  ],
  [
    'a category that nobody declared',
    [{ ...ok, category: 'publsh' }],
    'bounds[0].category: must be a declared category, got "publsh" (did you mean "publish"?); declared: request, publish',
  ],
  ['a category that is none', [{ ...ok, category: 7 }], 'bounds[0].category: must be the name of a category, got 7'],
  [
    'limits that are wrong',
    [
      {
        ...ok,
        limits: [
          { count: 0, windowSeconds: 60 },
          { count: 1, window: 'PT1M' },
        ],
      },
    ],
    'bounds[0].limits[0].count: must be a whole number from 1 to 1000000000, got 0',
    'bounds[0].limits[1].window: must differ from the window of [0] in the same list, got 60 in both',
  ],
  [
    'four limits',
    [{ ...ok, limits: [...everyKind.slice(1), { kind: 'blocked' }] }],
    'bounds[0].limits: must be a list of up to 3 limits, got 4',
  ],
  ['no keys', [{ ...ok, maxKeys: 0 }], `bounds[0].maxKeys: ${MAX_KEYS}, got 0`],
  ['too many keys', [{ ...ok, maxKeys: 1_000_001 }], `bounds[0].maxKeys: ${MAX_KEYS}, got 1000001`],
  ['keys for everyone', [{ ...ok, per: 'everyone', maxKeys: 1 }], `bounds[0].maxKeys: ${ONE_KEY}`],
  ['overflow for everyone', [{ ...ok, per: 'everyone', overflow: 'share' }], `bounds[0].overflow: ${ONE_KEY}`],
  ['shared in the fixed table', [{ ...ok, overflow: 'share' }], `bounds[0].overflow: ${SHARE}`],
  ['shared without limits', [{ ...ok, limits: [], overflow: 'share' }], `bounds[0].overflow: ${SHARE}`],
  [
    'overflow misspelt',
    [{ ...ok, overflow: 'shared' }],
    'bounds[0].overflow: must be "forget" or "share", got "shared" (did you mean "share"?)',
  ],
]

for (const [name, input, ...lines] of rows) {
  t.test(`refused: ${name}`, async (t) => {
    t.strictSame(
      linesOf(() => parseBounds(deepFreeze(input), categories)),
      lines,
    )
  })
}
