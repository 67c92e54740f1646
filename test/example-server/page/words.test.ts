import t from 'tap'
import { count, duration, perWindow } from '../../../example-server/page/words.ts'

t.test('durations are rounded up', async (t) => {
  const words = [-5, 0, 1, 100, 101, 59_901, 60_000, 61_001, 3_599_000, 3_600_000, 7_260_000].map(duration)
  t.same(words, [
    '0.0 s',
    '0.0 s',
    '0.1 s',
    '0.1 s',
    '0.2 s',
    '60.0 s',
    '1 min 0 s',
    '1 min 2 s',
    '59 min 59 s',
    '1 h 0 min',
    '2 h 1 min',
  ])
})

t.test('windows and numbers', async (t) => {
  t.same([1, 60, 3600, 86_400].map(perWindow), ['per 1 s', 'per minute', 'per hour', 'per 86400 s'])
  t.same(
    [0, 1, 1000].map((n) => count(n, 'topic')),
    ['0 topics', '1 topic', '1,000 topics'],
  )
})
