import t from 'tap'
import { showValue } from '../../src/policy/show-value.ts'

class Settings {
  readonly size = 1
}

const rows: readonly [value: unknown, shown: string][] = [
  ['10', '"10"'],
  ['', '""'],
  ['two\nlines', '"two\\nlines"'],
  ['x'.repeat(100), `"${'x'.repeat(58)}…`],
  [-1, '-1'],
  [-0, '-0'],
  [1.5, '1.5'],
  [Number.NaN, 'NaN'],
  [Infinity, 'Infinity'],
  [10n, '10n'],
  [true, 'true'],
  [null, 'null'],
  [undefined, 'undefined'],
  [Symbol('s'), 'Symbol(s)'],
  [function identify() {}, '[Function: identify]'],
  [Settings, '[class Settings]'],
  [new Settings(), 'Settings { size: 1 }'],
  [[], '[]'],
  [{ count: 1, window: '60' }, "{ count: 1, window: '60' }"],
  [Object.assign(Object.create(null), { count: 1 }), '[Object: null prototype] { count: 1 }'],
  [new Map([['a', 1]]), "Map(1) { 'a' => 1 }"],
]

for (const [value, shown] of rows) {
  t.test(`shows ${shown}`, async (t) => {
    t.equal(showValue(value), shown)
  })
}

t.test('anything is shown on one line of at most 60 characters', async (t) => {
  const circle: Record<string, unknown> = { text: 'a\u2028b\nc', more: Array.from({ length: 1000 }, (_, i) => i) }
  circle.self = circle
  for (const value of [circle, new Error('first\nsecond'), 'a\u2028b', 'y'.repeat(1e6), () => 'a\nb']) {
    const shown = showValue(value)
    t.ok(shown.length <= 60, shown)
    t.notMatch(shown, /[\r\n\u2028\u2029]/)
  }
})

t.test("a value's own inspect method does not run", async (t) => {
  const sly = {
    [Symbol.for('nodejs.util.inspect.custom')]: () => {
      throw new Error('ran')
    },
  }
  t.doesNotThrow(() => showValue(sly))
})
