import { Code, ConnectError } from '@connectrpc/connect'
import t from 'tap'
import { clientClock, waitUntil } from '../../src/client/clock.ts'
import { manualClientClock, settled } from '../support/client-clock.ts'
import { outcome } from '../support/scripted-server.ts'

const never = new AbortController().signal

t.test('RATE-041: a wait above 2³¹−1 ms does not fire early', async (t) => {
  const clock = manualClientClock()
  const waitMs = 2 ** 33 + 7.5
  let over = false
  const wait = waitUntil(clock.now() + waitMs, clock, never).then(() => (over = true))
  let timers = 0
  for (let left = waitMs; left > 2 ** 31 - 1; left -= 2 ** 31 - 1) {
    t.same(clock.timers, [2 ** 31 - 1], 'no timer is longer than setTimeout can be')
    clock.advance(2 ** 31 - 1)
    timers += 1
  }
  t.equal(timers, 4)
  await settled()
  t.notOk(over)
  clock.advance(12)
  await wait
  t.same(clock.timers, [])
})

t.test('RATE-041: after waking the clock is checked', async (t) => {
  const clock = manualClientClock()
  let over = false
  let runs = 0
  // Timers that fire one millisecond early, as those of Node do.
  const early = {
    now: clock.now,
    schedule: (ms: number, run: () => void) => {
      runs += 1
      return clock.schedule(Math.max(ms - 1, 0.125), run)
    },
  }
  const wait = waitUntil(clock.now() + 100, early, never).then(() => (over = true))
  clock.advance(99.75)
  await settled()
  t.notOk(over)
  clock.advance(1)
  await wait
  t.ok(runs < 12, 'and no busy loop follows')
})

t.test('an abort ends a wait at once, with the error of Connect, and leaves nothing', async (t) => {
  for (const [reason, code] of [
    [undefined, Code.Canceled],
    ['because', Code.Canceled],
    [new ConnectError('the operation timed out', Code.DeadlineExceeded), Code.DeadlineExceeded],
  ] as const) {
    const clock = manualClientClock()
    const abort = new AbortController()
    const wait = outcome(waitUntil(clock.now() + 1000, clock, abort.signal))
    t.equal(clock.timers.length, 1)
    abort.abort(reason)
    t.equal(clock.timers.length, 0)
    const error = await wait
    t.ok(error instanceof ConnectError && error.code === code)
    const again = await outcome(waitUntil(0, clock, abort.signal))
    t.ok(again instanceof ConnectError && again.code === code, 'also when it was aborted before')
  }
})

t.test('the real clock', async (t) => {
  const start = performance.now()
  await waitUntil(clientClock.now() + 20.5, clientClock, never)
  t.ok(performance.now() - start >= 20.5)
})
