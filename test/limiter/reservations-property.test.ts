import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type BoundOptions, createLimiter, manualClock } from '../../src/index.ts'
import { millisecond, second } from '../support/limiter-of.ts'

type Per = BoundOptions<unknown>['per']

const earnedBack = [
  { count: 7, windowSeconds: 10 },
  { count: 20, windowSeconds: 60 },
]

/** Where a bound's keys live: in the fixed table, or in records of their own. */
const bounds = (epoch: () => number): BoundOptions<unknown>[] => {
  const bound = (name: string, per: Per, limits: BoundOptions<unknown>['limits'], maxKeys?: number) => ({
    name,
    per,
    category: 'work',
    limits,
    ...(maxKeys === undefined ? {} : { maxKeys }),
  })
  return [
    bound('table', 'user', earnedBack),
    bound('records', 'user', earnedBack, 3),
    bound('window', 'user', [{ kind: 'sliding_window', count: 9, windowSeconds: 7 }]),
    bound('log', 'organisation', [{ kind: 'sliding_log', count: 12, windowSeconds: 9 }], 2),
    bound('epoch', 'everyone', [{ kind: 'epoch', count: 25, epoch }]),
    bound(
      'mixed',
      'user',
      [
        { kind: 'epoch', count: 14, epoch },
        { count: 30, windowSeconds: 60 },
      ],
      5,
    ),
  ]
}

const stepArb = fc.record({
  byMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    fc.integer({ min: 1, max: 3000 }),
    fc.constantFrom(7000, 10_000, 60_000),
  ),
  epochs: fc.constantFrom(0, 0, 0, 0, 0, 1),
  user: fc.nat(2),
  do: fc.constantFrom('spend', 'spend', 'reserve', 'reserve', 'commit', 'release'),
  cost: fc.oneof({ weight: 6, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.constantFrom(7, 9, 30) }),
  which: fc.nat(20),
})

for (const only of ['caller', 'table', 'records', 'window', 'log', 'epoch', 'mixed', undefined]) {
  const what = only ?? 'all bounds together'
  t.test(
    `a reservation counts in full while open, from its commit on, and not at all once released: ${what}`,
    async () => {
      const seen = { committed: 0, released: 0, refused: 0, afterHeld: 0 }
      fc.assert(
        fc.property(fc.array(stepArb, { minLength: 10, maxLength: 60 }), (steps) => {
          let epoch = 5
          const clock = manualClock(0n)
          const source = () => epoch
          const make = () =>
            createLimiter({
              rateLimits: { maxMemoryMib: 1, categories: { work: { default: only === 'caller' ? earnedBack : [] } } },
              bounds: bounds(source).filter(({ name }) => only === undefined || name === only),
              clock,
            })
          const reserving = make()
          // Never reserves: spends when the other spends or commits.
          const plain = make()
          const contexts = ['x', 'x', 'y'].map((organisation, i) => ({ user: `u${i}`, organisation }))
          const caller = { type: 'api_key', name: 'k' } as const
          const who = contexts.map((context) => reserving.resolve(caller, context))
          const plainWho = contexts.map((context) => plain.resolve(caller, context))
          const open: { user: number; cost: number; reservation: { commit(): boolean; release(): void } }[] = []
          const sharedBy = (bound: string, user: number) => (other: { user: number }) =>
            bound === 'epoch' ||
            bound === 'caller' ||
            (bound === 'log'
              ? contexts[other.user]!.organisation === contexts[user]!.organisation
              : other.user === user)

          const check = () => {
            for (const user of [0, 1, 2]) {
              const expected = plain.remaining(plainWho[user]!, 'work').map((left) => {
                const held = open.filter(sharedBy(left.bound, user)).reduce((sum, { cost }) => sum + cost, 0)
                return { ...left, units: Math.max(0, left.units - held) }
              })
              assert.deepEqual(reserving.remaining(who[user]!, 'work'), expected)
            }
          }
          const admits = (user: number, cost: number) =>
            cost === 0 ||
            reserving.remaining(who[user]!, 'work').every(({ bound, limit, units, fullInMs }) => {
              const isEarnedBack = 'windowSeconds' in limit && limit.kind === undefined
              const held = open.some((one) => one.cost > 0 && sharedBy(bound, user)(one))
              if (isEarnedBack && cost > limit.count) return fullInMs === 0 && !held
              return cost <= units
            })

          for (const { byMs, epochs, user, cost, which, ...step } of steps) {
            clock.advance(BigInt(byMs) * millisecond)
            epoch += epochs
            if (step.do === 'spend' || step.do === 'reserve') {
              const expected = admits(user, cost)
              const made =
                step.do === 'spend'
                  ? reserving.spend(who[user]!, 'work', cost)
                  : reserving.reserve(who[user]!, 'work', cost)
              assert.equal(made.admitted, expected, `${step.do} of ${cost}`)
              if (!made.admitted) seen.refused += 1
              else if ('reservation' in made) open.push({ user, cost, reservation: made.reservation as never })
              else {
                assert.ok(plain.spend(plainWho[user]!, 'work', cost).admitted)
                if (open.length > 0) seen.afterHeld += 1
              }
            } else if (open.length > 0) {
              const [{ user, cost, reservation }] = open.splice(which % open.length, 1) as [(typeof open)[number]]
              if (step.do === 'commit') {
                assert.equal(reservation.commit(), true)
                assert.ok(plain.spend(plainWho[user]!, 'work', cost).admitted, 'what is committed had its room')
                seen.committed += 1
              } else {
                reservation.release()
                seen.released += 1
              }
              // Whatever comes later changes nothing.
              if (which % 2 === 0) reservation.release()
              assert.equal(reservation.commit(), false)
            }
            check()
          }
          for (const { reservation } of open.splice(0)) reservation.release()
          check()
          clock.advance(3600n * second)
          check()
        }),
        { numRuns: only === undefined ? 100 : 60 },
      )
      for (const [name, times] of Object.entries(seen)) assert.ok(times > 20, `${name} ${times}`)
    },
  )
}
