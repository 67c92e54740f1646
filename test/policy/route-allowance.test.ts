import t from 'tap'
import {
  overRouteAllowance,
  parseRouteAllowance,
  type RouteAllowance,
  type RouteContext,
} from '../../src/policy/route-allowance.ts'
import { deepFreeze, objectsIn } from './deep-freeze.ts'
import { linesOf } from './refused.ts'

class BoundSet {}

type Request = { readonly costs: unknown }
type Written = RouteAllowance<Request, unknown, unknown, BoundSet>

const context: RouteContext = {
  categories: ['request', 'publish'],
  holds: ['stream', 'upload'],
  isBoundSet: (value) => value instanceof BoundSet,
}
const limits = [{ count: 1, windowSeconds: 60 }]
const render = () => 'no'

const parse = (written: Written) =>
  parseRouteAllowance<Request, unknown, unknown, BoundSet>(written, context, 'config.allowance')

t.test('only what is given comes out, and frozen', async (t) => {
  t.strictSame(parse({}), {})
  t.strictSame(Object.keys(parse({ free: undefined, charges: undefined, step: undefined })), [])
  t.strictSame(parse({ free: true }), { free: true })
  const written: Written = {
    charges: { publish: 3, request: 0 },
    bounds: [{ name: 'a', per: 'route', limits }],
    holds: ['upload', 'stream'],
    step: 'preHandler',
    renderRejection: render,
  }
  const parsed = parse(deepFreeze(written))
  t.match(parsed, {
    charges: [
      { category: 'publish', cost: 3 },
      { category: 'request', cost: 0 },
    ],
    bounds: [{ name: 'a', per: 'route', limits, needsIdentity: false }],
    holds: ['upload', 'stream'],
    step: 'preHandler',
    renderRejection: render,
  })
  t.ok([...objectsIn(parsed)].every(Object.isFrozen))
  t.strictSame(Object.keys(parsed).length, 5)
})

t.test('in the spelling of a config file', async (t) => {
  t.strictSame(parseRouteAllowance({ render_rejection: render }, context, 'route'), { renderRejection: render })
})

t.test('a number is units of `request`', async (t) => {
  for (const cost of [0, 1, 7, Number.MAX_SAFE_INTEGER]) {
    t.strictSame(parse({ charges: cost }).charges, [{ category: 'request', cost }])
  }
})

t.test('a set of bounds, or a function that chooses, comes out as it is', async (t) => {
  const set = new BoundSet()
  t.equal(parse({ bounds: set }).bounds, set)
  const choose = () => [set]
  t.equal(parse({ bounds: choose }).bounds, choose)
})

const charges = parse({ charges: (request) => request.costs as number }).charges as (request: Request) => unknown

t.test('the charges of a request by a function', async (t) => {
  t.strictSame(charges({ costs: 2 }), [{ category: 'request', cost: 2 }])
  t.strictSame(charges({ costs: 0 }), [{ category: 'request', cost: 0 }])
  t.strictSame(charges({ costs: {} }), [])
  t.strictSame(charges({ costs: { publish: 4, request: 1 } }), [
    { category: 'publish', cost: 4 },
    { category: 'request', cost: 1 },
  ])
})

t.test('what a function returns that is no cost is refused, and not repeated: it may be of the request', async (t) => {
  const COST = 'a whole number from 0 to 9007199254740991'
  for (const costs of [-1, 1.5, Number.NaN, '1', null, undefined, [1], new Map(), Promise.resolve(1), true]) {
    t.throws(() => charges({ costs }), {
      name: 'RangeError',
      message: `config.allowance.charges must return ${COST}, or an object of such numbers by category`,
    })
  }
  for (const cost of [-1, 1.5, '203.0.113.9', null, undefined]) {
    t.throws(() => charges({ costs: { publish: cost } }), {
      name: 'RangeError',
      message: `config.allowance.charges must return for publish ${COST}`,
    })
  }
  for (const category of ['203.0.113.9', 'toString', '__proto__']) {
    t.throws(() => charges({ costs: Object.fromEntries([[category, 1]]) }), {
      name: 'RangeError',
      message: 'config.allowance.charges returned an undeclared category; declared: request, publish',
    })
  }
  t.throws(() => charges({ costs: { request: 1, publsh: 1 } }), {
    message:
      'config.allowance.charges returned an undeclared category (did you mean "publish"?); declared: request, publish',
  })
})

const P = 'config.allowance'
const KEYS = 'free, charges, bounds, holds, step, renderRejection'
const COST = 'must be a whole number from 0 to 9007199254740991'
const CHARGES = `${COST}, an object of such numbers by category, or a function of the request`
const BOUNDS = 'must be a list of bounds, a set made by limiter.bounds(), or a function of the request'
const HOLD = 'must be the name of a declared hold'

// one row for each way to get it wrong
const rows: readonly [name: string, input: unknown, ...lines: string[]][] = [
  ['nothing', null, `${P}: must be an object with the keys ${KEYS}, got null`],
  ['a number', 3, `${P}: must be an object with the keys ${KEYS}, got 3`],
  ['an unknown key', { charge: 1 }, `${P}: unknown key "charge" (did you mean "charges"?); known keys: ${KEYS}`],
  ['free: false', { free: false }, `${P}.free: must be true; a route that is not free leaves it out, got false`],
  [
    'free beside costs',
    { free: true, charges: 1, holds: ['stream'] },
    `${P}.charges: cannot stand beside free`,
    `${P}.holds: cannot stand beside free`,
  ],
  ['a negative charge', { charges: -1 }, `${P}.charges: ${CHARGES}, got -1`],
  ['half a charge', { charges: 0.5 }, `${P}.charges: ${CHARGES}, got 0.5`],
  ['a charge in text', { charges: '1' }, `${P}.charges: ${CHARGES}, got "1"`],
  ['charges as a list', { charges: [1] }, `${P}.charges: ${CHARGES}, got [ 1 ]`],
  ['charges as a Map', { charges: new Map() }, `${P}.charges: ${CHARGES}, got Map(0) {}`],
  ['charges that are null', { charges: null }, `${P}.charges: ${CHARGES}, got null`],
  [
    'charges in no category',
    { charges: {} },
    `${P}.charges: must name at least one category; a route that costs nothing is free`,
  ],
  [
    'a category that nobody declared, and a negative one',
    { charges: { publsh: 1, publish: -1, request: 2 } },
    `${P}.charges.publsh: must be a declared category, got "publsh" (did you mean "publish"?); declared: request, publish`,
    `${P}.charges.publish: ${COST}, got -1`,
  ],
  ['one bound without its list', { bounds: { name: 'a' } }, `${P}.bounds: ${BOUNDS}, got { name: 'a' }`],
  ['bounds by name', { bounds: 'sender' }, `${P}.bounds: ${BOUNDS}, got "sender"`],
  [
    'bounds that are wrong',
    {
      bounds: [
        { name: 'a', per: 'route', limits: [{ count: 1, window: '5x' }], category: 'publsh' },
        { name: 'a', per: 'user', limits: [], max_keys: 0 },
      ],
    },
    `${P}.bounds[0].limits[0].window: must be a duration from 1 to 8640000 whole seconds, such as 60, "PT1M" or, in whole numbers and small letters, "1h 20min", got "5x"`,
    `${P}.bounds[1].max_keys: must be a whole number from 1 to 1000000, got 0`,
    `${P}.bounds[1].name: must differ from the name of [0] in the same list, got "a" in both`,
    `${P}.bounds[0].category: must be a declared category, got "publsh" (did you mean "publish"?); declared: request, publish`,
  ],
  ['one hold without its list', { holds: 'stream' }, `${P}.holds: must be a list of names of holds, got "stream"`],
  [
    'a hold that nobody declared, one twice, one that is none',
    { holds: ['stream', 'streem', 'stream', 3] },
    `${P}.holds[1]: ${HOLD}, got "streem" (did you mean "stream"?); declared: stream, upload`,
    `${P}.holds[3]: ${HOLD}, got 3; declared: stream, upload`,
    `${P}.holds[2]: is kept already, at [0]; allowed: once`,
  ],
  [
    'another step',
    { step: 'preHandle' },
    `${P}.step: must be "onRequest" or "preHandler", got "preHandle" (did you mean "preHandler"?)`,
  ],
  [
    'a body instead of a function',
    { renderRejection: 'no' },
    `${P}.renderRejection: must be a function of the denial, the request and the reply, got "no"`,
  ],
]

for (const [name, input, ...lines] of rows) {
  t.test(`refused: ${name}`, async (t) => {
    t.strictSame(
      linesOf(() => parseRouteAllowance(input, context, P)),
      lines,
    )
  })
}

t.test('a hold where none is declared', async (t) => {
  t.strictSame(
    linesOf(() => parseRouteAllowance({ holds: ['stream'] }, { ...context, holds: [] }, P)),
    [`${P}.holds[0]: ${HOLD}, got "stream"; none is declared`],
  )
})

t.test('one route over all, key by key', async (t) => {
  const over = (all: Written, own: Written) => overRouteAllowance(parse(all), parse(own))
  const two = [{ category: 'request', cost: 2 }]
  t.strictSame(over({}, {}), {})
  t.strictSame(over({ charges: 2, step: 'preHandler' }, { step: 'onRequest' }), { charges: two, step: 'onRequest' })
  t.strictSame(over({ free: true, step: 'preHandler' }, {}), { free: true, step: 'preHandler' })
  t.strictSame(over({ free: true, step: 'preHandler' }, { charges: 2 }), { charges: two, step: 'preHandler' })
  t.strictSame(over({ free: true }, { holds: ['stream'] }), { holds: ['stream'] })
  t.strictSame(over({ free: true, renderRejection: render }, { step: 'onRequest' }), {
    free: true,
    renderRejection: render,
    step: 'onRequest',
  })
  t.strictSame(over({ charges: 2, holds: ['stream'], step: 'preHandler' }, { free: true }), {
    free: true,
    step: 'preHandler',
  })
  t.strictSame(over({ charges: 2, holds: ['stream'] }, { holds: [] }), { charges: two, holds: [] })
  t.strictSame(over({ charges: 2, holds: ['stream'] }, { charges: 2 }), { charges: two, holds: ['stream'] })
  t.ok(Object.isFrozen(over({}, {})))
})
