import t from 'tap'
import type { HoldOptions } from '../../src/index.ts'
import { boundsLimiter, type Req } from '../support/bounds-limiter.ts'
import { apiKey } from '../support/limiter-of.ts'

const hold = (more: Partial<HoldOptions<Req>> = {}): HoldOptions<Req> => ({
  name: 'stream',
  per: 'caller',
  count: 2,
  retryDelaySeconds: 3,
  ...more,
})

t.test('a hold keeps at most so many open for each key, from the opening to the release', async (t) => {
  const { limiter, advance } = boundsLimiter({ holds: [hold(), hold({ name: 'all', per: 'everyone', count: 3 })] })
  const open = (name: string, of = 'stream') => {
    const made = limiter.hold(apiKey(name), of)
    return made.admitted ? made.hold : made.denial
  }
  const first = open('a')
  const second = open('a')
  const limit = { kind: 'hold', count: 2, retryDelaySeconds: 3 }
  const refused = {
    category: 'stream',
    bound: 'stream',
    limit,
    retryDelayMs: 3000,
    exceeded: [{ bound: 'stream', limit, retryDelayMs: 3000 }],
  }
  t.same(open('a'), refused)
  t.match(open('b'), { release: Function }, 'another key')
  advance(1e9)
  t.same(open('a'), refused, 'time gives nothing back')
  for (let i = 0; i < 3; i++) (first as { release(): void }).release()
  t.match(open('a'), { release: Function })
  t.same(open('a'), refused, 'released once, however often that is said')
  ;(second as { release(): void }).release()
  t.match(open('a'), { release: Function })

  for (const name of ['a', 'b', 'c']) t.match(open(name, 'all'), { release: Function })
  t.match(open('d', 'all'), { bound: 'all', retryDelayMs: 3000 }, 'everyone together')
  t.throws(() => limiter.hold(apiKey('a'), 'strem'), {
    name: 'RangeError',
    message: /hold "strem" is not declared in holds; declared are stream, all/,
  })
  t.throws(() => boundsLimiter({}).limiter.hold(apiKey('a'), 'stream'), /declared are none/)
})

t.test('a hold that is not about a caller is always given', async (t) => {
  const { limiter } = boundsLimiter({
    holds: [hold({ per: ({ sender }) => sender, appliesTo: ({ sender }) => sender !== 'free', count: 1 })],
  })
  for (const [sender, expected] of [
    ['s', [true, false]],
    ['r', [true, false]],
    ['free', [true, true]],
    [undefined, [true, true]],
  ] as const) {
    const who = limiter.resolve(apiKey('a'), { request: sender === undefined ? {} : { sender } })
    t.same([limiter.hold(who, 'stream').admitted, limiter.hold(who, 'stream').admitted], expected, sender ?? 'none')
  }
})

t.test('holds of keys beyond maxKeys are counted as one, and those that are tracked stay apart', async (t) => {
  const { limiter } = boundsLimiter({ holds: [hold({ maxKeys: 2 })] })
  const open = (name: string) => {
    const made = limiter.hold(apiKey(name), 'stream')
    return made.admitted ? made.hold : undefined
  }
  const a = open('a')
  t.ok(open('b'))
  const c = open('c')
  t.ok(open('d'), 'c and d share two')
  t.notOk(open('e'))
  t.ok(open('a') && open('b'), 'a and b have one left each')
  t.notOk(open('a'))
  c?.release()
  t.ok(open('e'), 'the shared place that was released')
  t.notOk(open('c'))
  a?.release()
  t.notOk(open('c'), 'a still holds one: nothing is idle')
})

t.test('1000 holds opened and released in any order leave nothing behind', async (t) => {
  const { limiter } = boundsLimiter({ holds: [hold({ count: 1, maxKeys: 10 })] })
  for (let round = 0; round < 100; round++) {
    const opened = Array.from({ length: 10 }, (_, i) => limiter.hold(apiKey(`${round * 10 + i}`), 'stream'))
    t.ok(
      opened.every(({ admitted }) => admitted),
      `round ${round}: each key has a record of its own`,
    )
    for (const made of opened.reverse()) if (made.admitted) made.hold.release()
  }
})
