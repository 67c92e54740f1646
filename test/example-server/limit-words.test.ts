import t from 'tap'
import { countOf, limitInWords, windowSecondsOf } from '../../example-server/limit-words.ts'
import type { Limit } from '../../src/index.ts'

t.test('a limit of each kind, in words and in numbers', async (t) => {
  const rows: readonly [limit: Limit, words: string, count: number, windowSeconds: number][] = [
    [{ count: 5, windowSeconds: 60 }, '5 per 60 s', 5, 60],
    [{ kind: 'earned_back', count: 5, windowSeconds: 60 }, '5 per 60 s', 5, 60],
    [{ kind: 'sliding_window', count: 5, windowSeconds: 60 }, '5 in about any 60 s', 5, 60],
    [{ kind: 'sliding_log', count: 5, windowSeconds: 60 }, '5 in any 60 s', 5, 60],
    [{ kind: 'epoch', count: 5, epoch: () => 1 }, '5 per epoch', 5, 0],
    [{ kind: 'blocked' }, 'nothing, ever', 0, 0],
  ]
  for (const [limit, ...expected] of rows) {
    t.strictSame([limitInWords(limit), countOf(limit), windowSecondsOf(limit)], expected)
  }
})
