import type { FastifyServerOptions } from 'fastify'
import t from 'tap'
import allowance, { type Caller, type Identify, type Identity } from '../src/index.ts'
import { createFastify, listeningMatrixApp, matrixApp, pathOf, rateLimits } from './support/matrix-app.ts'
import { headOf, openSocket } from './support/raw-http1.ts'
import { openSession, send } from './support/raw-http2.ts'

const json = { 'content-type': 'application/json' }
const limits = { request: '10/60' }

t.test('RATE-001: a request is charged to the identity that the app gives, or to its address', async (t) => {
  const victims: Caller[] = [
    { type: 'api_key', name: '203.0.113.9' },
    { type: 'jwt', iss: 'a', sub: 'b:c' },
    { type: 'jwt', iss: 'a:b', sub: 'c' },
    { type: 'jwt', iss: '', sub: 'a:b:c' },
    { type: 'api_key', name: '__proto__' },
    { type: 'api_key', name: 'constructor' },
    { type: 'ip', address: '203.0.113.9' },
  ]
  const identities: Record<string, { identity: Identity; charged: Caller }> = {
    'an API key': { identity: { type: 'api_key', name: '203.0.113.9' }, charged: victims[0]! },
    'a JWT': { identity: { type: 'jwt', iss: 'a', sub: 'b:c' }, charged: victims[1]! },
    'a JWT of another issuer': { identity: { type: 'jwt', iss: 'a:b', sub: 'c' }, charged: victims[2]! },
    'a JWT without an issuer': { identity: { type: 'jwt', sub: 'a:b:c' }, charged: victims[3]! },
    'a JWT with an empty issuer': { identity: { type: 'jwt', iss: '', sub: 'a:b:c' }, charged: victims[3]! },
    'an API key named __proto__': { identity: { type: 'api_key', name: '__proto__' }, charged: victims[4]! },
    'an API key named constructor': { identity: { type: 'api_key', name: 'constructor' }, charged: victims[5]! },
    'a JWT without a subject': { identity: { type: 'jwt', iss: 'a', sub: undefined }, charged: victims[6]! },
    nothing: { identity: undefined, charged: victims[6]! },
    null: { identity: null, charged: victims[6]! },
    'an address': { identity: { type: 'ip', address: '::ffff:203.0.113.9' }, charged: victims[6]! },
  }
  const ways: Record<string, (identity: Identity) => Identify> = {
    'at once': (identity) => () => identity,
    'as a promise': (identity) => async () => identity,
    'as a promise, later': (identity) => () => new Promise((resolve) => setImmediate(() => resolve(identity))),
  }
  for (const [way, identify] of Object.entries(ways)) {
    for (const [name, { identity, charged }] of Object.entries(identities)) {
      t.test(`${name}, ${way}`, async (t) => {
        const { app, limiter } = await matrixApp(t, { limits, allowance: { identify: identify(identity) } })
        const answer = await app.inject({
          method: 'POST',
          url: pathOf('Undeclared'),
          headers: json,
          payload: '{}',
          remoteAddress: '203.0.113.9',
        })
        t.equal(answer.statusCode, 200)
        const left = victims.map((caller) => limiter.remaining(caller, 'request')[0]!.units)
        t.same(
          left,
          victims.map((caller) => (caller === charged ? 9 : 10)),
        )
      })
    }
  }

  t.test('without identify everybody is charged to the address', async (t) => {
    const { app, limiter } = await matrixApp(t, { limits, allowance: { identify: undefined } })
    const request = { method: 'POST', url: pathOf('Undeclared'), headers: { ...json, 'x-caller': 'a' } } as const
    await app.inject({ ...request, payload: '{}', remoteAddress: '203.0.113.9' })
    t.equal(limiter.remaining({ type: 'ip', address: '203.0.113.9' }, 'request')[0]!.units, 9)
  })

  t.test('identify is called once for a request, with all its charges and steps', async (t) => {
    let calls = 0
    const { app } = await matrixApp(t, {
      allowance: {
        identify: async () => {
          calls++
          return { type: 'api_key', name: 'once' }
        },
      },
    })
    const headers = { ...json, 'x-step': 'yes' }
    const answer = await app.inject({ method: 'POST', url: pathOf('Unary'), headers, payload: '{"items":["a"]}' })
    t.equal(answer.statusCode, 200)
    t.equal(calls, 1)
  })
})

/** X-Forwarded-For lines, and the address that is charged, for a peer 127.0.0.1 that is a trusted proxy as 10.0.0.0/8 is. */
const forwarded: readonly (readonly [lines: string[], charged: string])[] = [
  [[], '127.0.0.1'],
  [['203.0.113.9'], '203.0.113.9'],
  [['203.0.113.9:52114'], '127.0.0.1'],
  [['[2001:db8::1]'], '127.0.0.1'],
  [['unknown'], '127.0.0.1'],
  [['010.1.1.1'], '127.0.0.1'],
  [['192.168.1'], '127.0.0.1'],
  [['2130706433'], '127.0.0.1'],
  [['1.2.3.4/32'], '127.0.0.1'],
  [['203.0.113.9,'], '127.0.0.1'],
  [['198.51.100.66', '203.0.113.9, 10.0.0.7'], '203.0.113.9'],
  [['203.0.113.9, 10.0.0.7', '198.51.100.66'], '198.51.100.66'],
  [['junk, 203.0.113.9'], '203.0.113.9'],
  [['203.0.113.9, junk'], '127.0.0.1'],
  [['10.0.0.9,10.0.0.7'], '10.0.0.9'],
  [['10.0.0.9', '10.0.0.7'], '10.0.0.9'],
  [['fe80::1%eth0'], '127.0.0.1'],
  [['2001:db8:1:2:3:4:5:6'], '2001:db8:1:2::'],
  [['::ffff:203.0.113.9'], '203.0.113.9'],
  [['::ffff:cb00:7109'], '203.0.113.9'],
  [['203.0.113.9, ::ffff:10.0.0.7'], '203.0.113.9'],
]
const trustedProxies = ['10.0.0.0/8', '127.0.0.1']
// Fastify takes a number of hops too, but its types do not say so.
const oneHop = 1 as unknown as string
const trustProxies: readonly FastifyServerOptions['trustProxy'][] = [false, true, '127.0.0.1', oneHop, () => false]

t.test('RATE-002, case 4: the address is found in the X-Forwarded-For lines that trusted proxies wrote', async (t) => {
  for (const trustProxy of trustProxies) {
    for (const http2 of [false, true]) {
      t.test(`over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}, with trustProxy ${trustProxy}`, async (t) => {
        const callers: unknown[] = []
        const { url, port } = await listeningMatrixApp(t, {
          http2,
          fastify: trustProxy === undefined ? {} : { trustProxy },
          allowance: { identify: undefined, rateLimits: { ...rateLimits({}), trustedProxies } },
          before: (app) =>
            app.addHook('onResponse', async (request) => {
              callers.push(request.caller)
            }),
        })
        const charged = async () => {
          while (callers.length === 0) await new Promise(setImmediate)
          return callers.pop()
        }
        if (http2) {
          const session = openSession(t, url)
          for (const [lines, address] of forwarded) {
            const headers = { ...json, ...(lines.length > 0 && { 'x-forwarded-for': lines as unknown as string }) }
            t.equal((await send(session, pathOf('Undeclared'), headers, '{}')).status, 200)
            t.same(await charged(), { type: 'ip', address }, lines.join(' | '))
          }
          return
        }
        const { write, response } = await openSocket(t, port)
        for (const [lines, address] of forwarded) {
          const headers = lines.map((line) => ['X-Forwarded-For', line] as const)
          write(headOf(pathOf('Undeclared'), [...headers, ['content-type', 'application/json'], ['content-length', 2]]))
          write('{}')
          t.equal((await response()).status, 200)
          t.same(await charged(), { type: 'ip', address }, lines.join(' | '))
        }
      })
    }
  }
})

t.test(
  'RATE-002: a header from a peer that is no trusted proxy counts for nothing, whatever trustProxy is',
  async (t) => {
    for (const trustProxy of [false, true]) {
      const { app, limiter } = await matrixApp(t, { limits, fastify: { trustProxy } })
      await app.inject({
        method: 'POST',
        url: pathOf('Undeclared'),
        headers: { ...json, 'x-forwarded-for': '203.0.113.9' },
        payload: '{}',
        remoteAddress: '198.51.100.1',
      })
      const left = (address: string) => limiter.remaining({ type: 'ip', address }, 'request')[0]!.units
      t.equal(left('198.51.100.1'), 9)
      t.equal(left('203.0.113.9'), 10)
    }
  },
)

t.test('RATE-002: X-Forwarded-For counts for nothing where Node may have left out header lines', async (t) => {
  const callers: unknown[] = []
  const { app, port } = await listeningMatrixApp(t, {
    allowance: { identify: undefined, rateLimits: { ...rateLimits({}), trustedProxies } },
    before: (app) =>
      app.addHook('preHandler', async (request) => {
        callers.push(request.caller)
      }),
  })
  /** The address that is charged for a request with so many header lines, on a connection of its own. */
  const chargedWith = async (lines: number, maxHeadersCount: number | null) => {
    app.server.maxHeadersCount = maxHeadersCount
    const { write, response } = await openSocket(t, port)
    const own = [
      ['X-Forwarded-For', '203.0.113.9'],
      ['content-type', 'application/json'],
      ['content-length', 2],
    ] as const
    const more = Array.from({ length: lines - own.length - 1 }, (_, i) => [`x${i}`, ''] as const)
    write(`${headOf(pathOf('Undeclared'), [...own, ...more])}{}`)
    t.equal((await response()).status, 200)
    return (callers.pop() as { address: string }).address
  }
  t.equal(await chargedWith(19, 20), '203.0.113.9')
  t.equal(await chargedWith(20, 20), '127.0.0.1', 'as many as are read')
  t.equal(await chargedWith(999, null), '203.0.113.9')
  t.equal(await chargedWith(1000, null), '127.0.0.1', 'as many as are read when nobody has said how many')
  t.equal(await chargedWith(1000, 0), '203.0.113.9', 'there is no bound')
})

t.test(
  'RATE-003: all addresses of an IPv6 /64 are one caller, and mapped addresses are their IPv4 address',
  async (t) => {
    const rows = [
      ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
      ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
      ['fe80::1%eth0', 'fe80::2', true],
      ['::ffff:203.0.113.9', '203.0.113.9', true],
      ['::ffff:203.0.113.9', '::ffff:203.0.113.10', false],
    ] as const
    for (const [first, second, same] of rows) {
      const { app } = await matrixApp(t, { limits: { request: '1/60' } })
      const status = async (remoteAddress: string) => {
        const request = { method: 'POST', url: pathOf('Undeclared'), headers: json, payload: '{}' } as const
        return (await app.inject({ ...request, remoteAddress })).statusCode
      }
      t.equal(await status(first), 200)
      t.equal(await status(second), same ? 429 : 200, `${first} and ${second}`)
    }
  },
)

t.test('case 4: with trustProxy on and no trusted proxies the start warns', async (t) => {
  const warning =
    'trustProxy is on, but rateLimits.trustedProxies is empty: callers without a credential are charged to the ' +
    'address of the proxy, which they share'

  const warningsOf = async (
    trustProxy: FastifyServerOptions['trustProxy'] | undefined,
    trusted: string[],
    nested = false,
  ) => {
    const lines: string[] = []
    const stream = { write: (line: string) => lines.push(line) }
    const app = createFastify(false, { logger: { stream }, ...(trustProxy !== undefined && { trustProxy }) })
    const options = { domain: 'xmtp.org', rateLimits: { maxMemoryMib: 1, trustedProxies: trusted } }
    if (nested) {
      app.register(async (child) => {
        await child.register(allowance, options)
      })
    } else {
      await app.register(allowance, options)
    }
    await app.ready()
    await app.close()
    return lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
  }
  for (const trustProxy of [true, '10.0.0.0/8', oneHop, () => true]) {
    t.match(await warningsOf(trustProxy, []), [{ msg: warning }], `trustProxy ${trustProxy}`)
  }
  t.match(await warningsOf(true, [], true), [{ msg: warning }], 'in a child scope')
  t.same(await warningsOf(true, ['10.0.0.0/8']), [])
  t.same(await warningsOf(true, ['unix']), [])
  t.same(await warningsOf(false, []), [])
  t.same(await warningsOf(undefined, []), [])
})
