import fc from 'fast-check'
import t from 'tap'
import { type Spend, streamWorld } from '../support/stream-world.ts'

/** What may happen to a stream. Times in ms. */
type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'open'; readonly topics: number }
  | { readonly kind: 'update'; readonly stream: number; readonly topics: number; readonly registers: boolean }
  | { readonly kind: 'end'; readonly stream: number }

const stream = fc.nat(5)
const topics = fc.oneof(fc.constantFrom(0, 1, 999, 1000, 1001, 5001), fc.nat(20_000))
const ms = fc.oneof(fc.constantFrom(1, 59_999, 60_000, 60_001, 180_000), fc.nat(70_000), fc.nat(400_000))
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('open' as const), topics }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('update' as const), stream, topics, registers: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), stream }) },
  ),
  { minLength: 10, maxLength: 40, size: 'max' },
)

const rentOf = (topics: number) => 1 + Math.ceil(topics / 1000)

/**
 * What one stream must have spent by a moment, worked out from its history alone: from each whole period after its opening the
 * rent of the last update before it, and for each update what it is above the most that its period has paid.
 */
const mustHaveSpent = (
  openMs: number,
  history: readonly { readonly ms: number; readonly topics: number; readonly registers: boolean }[],
  untilMs: number,
): Spend[] => {
  const spends: Spend[] = []
  const spend = (ms: number, category: string, units: number) => spends.push([ms / 1000, category, units])
  let held = 0
  let paid = 0
  for (let k = 0; openMs + k * 60_000 <= untilMs; k++) {
    const beginMs = openMs + k * 60_000
    // An update at the very moment a period begins comes after its rent, but for the opening.
    if (k > 0) {
      paid = rentOf(held)
      spend(beginMs, 'stream_rent', paid)
    }
    const updates = history.filter(({ ms }) => ms >= beginMs && ms < beginMs + 60_000)
    for (const { ms, topics, registers } of updates) {
      const more = rentOf(topics) - paid
      if (more > 0) {
        spend(ms, 'stream_rent', more)
        paid += more
      }
      if (registers) spend(ms, 'request', 1)
      held = topics
    }
  }
  return spends
}

t.test('RATE-030, RATE-031: whatever happens when, each stream has spent exactly what it must', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const { open, advance, clock } = streamWorld()
      let nowMs = 0
      const all: {
        readonly opened: ReturnType<typeof open>
        readonly openMs: number
        readonly history: { ms: number; topics: number; registers: boolean }[]
        endMs: number | undefined
      }[] = []
      for (const step of steps) {
        if (step.kind === 'wait') {
          advance(step.ms / 1000)
          nowMs += step.ms
        } else if (step.kind === 'open') {
          const history = [{ ms: nowMs, topics: step.topics, registers: false }]
          all.push({ opened: open(step.topics), openMs: nowMs, history, endMs: undefined })
        } else {
          const live = all.filter(({ endMs }) => endMs === undefined)
          const each = live[step.stream % live.length]
          if (each === undefined) continue
          if (step.kind === 'update') {
            each.history.push({ ms: nowMs, topics: step.topics, registers: step.registers })
            await each.opened.stream.update(step.topics, { registers: step.registers })
          } else {
            each.endMs = nowMs
            each.opened.stream.end()
          }
        }
      }
      for (const { opened, openMs, history, endMs } of all) {
        t.strictSame(opened.host.spends, mustHaveSpent(openMs, history, endMs ?? nowMs))
      }
      const openStreams = all.filter(({ endMs }) => endMs === undefined).length
      t.equal(clock.scheduled, openStreams === 0 ? 0 : 1)
      if (!t.passing()) throw new Error('differs from the model')
    }),
    { numRuns: 300 },
  )
})
