import t from 'tap'
import { visitsOf } from '../../bench/random.ts'
import { isMet } from '../../bench/result.ts'
import { quantile, ratioOf, spreadOf } from '../../bench/statistics.ts'

t.test('median and quartiles lie between the figures, in proportion', async (t) => {
  t.same(spreadOf([4, 1, 3, 2]), { low: 1.75, median: 2.5, high: 3.25 })
  t.same(spreadOf([7]), { low: 7, median: 7, high: 7 })
  t.equal(quantile([1, 2, 3], 1), 3)
  t.throws(() => quantile([], 0.5), RangeError)
})

t.test('a ratio is taken round by round, and its interval holds it', async (t) => {
  // The machine was ten times as slow in the last round: for both.
  t.match(ratioOf([2, 4, 60], [1, 2, 30]), { value: 2, interval: [2, 2] })
  const { value, interval } = ratioOf([10, 12, 11, 13, 9], [10, 10, 10, 10, 10])
  t.equal(value, 1.1)
  t.ok(interval[0] >= 0.9 && interval[0] < 1.1 && interval[1] > 1.1 && interval[1] <= 1.3, `${interval}`)
  t.throws(() => ratioOf([1], [1, 2]), RangeError)
})

t.test('visits are of all callers, in random order that is the same again', async (t) => {
  const visits = visitsOf(1000, 3000)
  t.same(visits, visitsOf(1000, 3000))
  t.same(
    visits.slice(0, 1000).toSorted(),
    Array.from({ length: 1000 }, (_, i) => i),
  )
  t.same(visits.slice(1000, 2000), visits.slice(0, 1000))
  t.ok(visits.slice(1, 1000).filter((one, i) => one === visits[i]! + 1).length < 10, 'hardly one after its neighbour')
  t.equal(new Set(visitsOf(1000, 100)).size, 100, 'nobody twice before all were met')
})

t.test('a target is met, not met, or has no bound', async (t) => {
  const target = { what: 'x', unit: '×', value: 2 }
  t.equal(isMet({ ...target, atLeast: 2 }), true)
  t.equal(isMet({ ...target, atLeast: 2.1 }), false)
  t.equal(isMet({ ...target, atMost: 1.9 }), false)
  t.equal(isMet(target), undefined)
})
