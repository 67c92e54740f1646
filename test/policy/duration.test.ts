import fc from 'fast-check'
import t from 'tap'
import { AllowanceOptionsError, parseDuration } from '../../src/index.ts'
import { duration } from '../../src/policy/duration.ts'
import { optionsObject, parseOptions } from '../../src/policy/option-schema.ts'

const LONGEST = 9_007_199_254_740
const EXAMPLES = 'such as 60, "PT1M" or, in whole numbers and small letters, "1h 20min"'

const read: readonly [text: number | string, seconds: number][] = [
  [1, 1],
  [60, 60],
  [LONGEST, LONGEST],
  ['60', 60],
  [String(LONGEST), LONGEST],
  ['PT1S', 1],
  ['PT1M', 60],
  ['PT1H', 3600],
  ['P1D', 86_400],
  ['P2W', 1_209_600],
  ['P1W2DT3H4M5S', 788_645],
  ['PT0H1M', 60],
  ['15min', 900],
  ['1h 20min', 4800],
  ['1h20min', 4800],
  ['1 h 20 min', 4800],
  ['90 mins', 5400],
  ['2 hours', 7200],
  ['45 minute', 2700],
  ['3h', 10_800],
  ['1w 1d 1h 1m 1s 1000ms', 694_862],
]

t.test('case 3: durations are read to whole seconds', async (t) => {
  for (const [text, seconds] of read) t.equal(parseDuration(text), seconds, JSON.stringify(text))
})

// what the libraries make of some of them: tinyduration a duration, parse-duration 60, 4800, …
const nonsense: readonly unknown[] = [
  ['5x', '-5s', 'PT0S', '', '0s', 0, '0', '+5s', '--5s', '-PT5S', 'PT-5S', 'P-1D', '-P1D'],
  [
    ' PT1M',
    'PT1M ',
    'PT1M\n',
    '\tPT1M',
    ' 15min',
    '15min ',
    '15min\n',
    '60\n',
    ' 60',
    '\ufeff60',
    '1h\n20min',
    '1h\t20min',
  ],
  ['PT0.5S', 'PT1.5H', 'PT1,5M', '0.5h', '.5h', '1.5h', '1.5', 1.5, '500ms', '5us', '5µs', '5ns'],
  [
    'P',
    'PT',
    'P1DT',
    '-P',
    'T1M',
    '1M',
    'pt1m',
    'PT1m',
    'PT1M1H',
    'PT1MT1S',
    'PT1M2',
    'PT1MPT1M',
    'xPT1M',
    'PT1M/PT2M',
  ],
  ['1h20', '1h 20', '1h -20min', '1h - 20min', '1e3s', '1e3', '0x10', '1_000s', '1,000s', '1 000s', '1 2h', '１h'],
  [
    'h',
    'min',
    '1h foo 20min',
    '1h, 20min',
    '1h and 20min',
    '1hr.',
    '20min 1h',
    '1h 1h',
    '1h  20min',
    '15 MIN',
    '1H',
    '1hs',
    '5 ss',
    '1ds',
  ],
  ['soon', 'unlimited', 'Infinity', 'NaN', 'null', '__proto__', '1group', '1 decimal', '12:30', '1h20min;', '60 60'],
  [
    -1,
    Number.NaN,
    Infinity,
    LONGEST + 1,
    2 ** 53,
    String(LONGEST + 1),
    '9'.repeat(400),
    `${'9'.repeat(30)}h`,
    'P9007199254741D',
  ],
  [null, true, 10n, ['60'], {}, Object.create(null), new Date(60_000), Symbol('60')],
].flat()

t.test('case 3: nonsense is refused by name, with what is allowed', async (t) => {
  for (const text of nonsense) {
    const name = typeof text === 'string' ? JSON.stringify(text.slice(0, 40)) : typeof text
    const error = refusal(text)
    t.type(error, RangeError, name)
    t.ok(error.message.startsWith(`must be a duration from 1 to ${LONGEST} whole seconds, ${EXAMPLES}, got `), name)
  }
  for (const text of ['1.5h', '1 Min', '1,5h'])
    t.match(refusal(text).message, /whole numbers and small letters, "1h 20min", got "1/)
  t.match(refusal('5x').message, /got "5x"$/)
  t.match(refusal(undefined).message, /^is missing; must be a duration from 1 to /)
})

t.test('case 3: months and years have no fixed length', async (t) => {
  const texts = ['P1M', 'P1Y', 'P1Y2M', 'P1MT1M', '-P1M', '1y', '1 year', '2yrs', '1mo', '1mth', '3 months', '1y 2h']
  for (const text of texts) {
    t.match(refusal(text).message, /; months and years have no fixed length$/, text)
    t.ok(refusal(text).message.includes(`got "${text}"`), text)
  }
  for (const text of ['5x', 'PT-1M', '1M', '1min 1min']) t.notMatch(refusal(text).message, /fixed length/, text)
})

t.test('case 3: bounds, as those of the gateway, from a second to a day', async (t) => {
  const day = { min: 1, max: 86_400 }
  t.equal(parseDuration('P1D', day), 86_400)
  t.equal(parseDuration('PT1S', day), 1)
  for (const text of ['PT0.5S', 'P2D', 'PT86401S', '25h', 86_401, 'PT0S']) {
    const { message } = refusal(text, day)
    const shown = JSON.stringify(text)
    t.equal(message, `must be a duration from 1 to 86400 whole seconds, ${EXAMPLES}, got ${shown}`)
  }
  t.equal(parseDuration('PT0S', { min: 0 }), 0)
  t.equal(parseDuration(0, { min: 0 }), 0)
  t.throws(() => parseDuration('59s', { min: 60 }), RangeError)
})

t.test('whatever is composed of whole numbers and units is their sum, in both spellings', async () => {
  const part = fc.option(fc.nat(9999))
  fc.assert(
    fc.property(part, part, part, part, part, fc.constantFrom('', ' '), (w, d, h, m, s, blank) => {
      const seconds = ((((w ?? 0) * 7 + (d ?? 0)) * 24 + (h ?? 0)) * 60 + (m ?? 0)) * 60 + (s ?? 0)
      fc.pre(seconds > 0)
      const spell = (n: number | null, unit: string) => (n === null ? '' : `${n}${unit}`)
      const date = `${spell(w, 'W')}${spell(d, 'D')}`
      const time = `${spell(h, 'H')}${spell(m, 'M')}${spell(s, 'S')}`
      const human = [spell(w, 'w'), spell(d, 'd'), spell(h, 'h'), spell(m, 'min'), spell(s, 's')].filter(Boolean)
      const iso = `P${date}${time && `T${time}`}`
      return parseDuration(iso) === seconds && parseDuration(human.join(blank)) === seconds
    }),
  )
})

t.test('any text gives whole seconds within the bounds or a RangeError', async () => {
  const piece = fc.constantFrom(
    'P',
    'T',
    '1',
    '20',
    '0',
    'H',
    'M',
    'S',
    'h',
    'min',
    's',
    ' ',
    '-',
    '.',
    ',',
    'e',
    '\n',
    'x',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
  )
  fc.assert(
    fc.property(text, (text) => {
      try {
        const seconds = parseDuration(text)
        // every number of the text has a unit, or it is one number
        return seconds >= 1 && Number.isInteger(seconds) && /^(\d+|P[\dTWDHMS]+|(\d+ ?[a-z]+ ?)+)$/.test(text)
      } catch (error) {
        return error instanceof RangeError
      }
    }),
    { numRuns: 2000 },
  )
})

t.test('a long text is refused at once', async (t) => {
  for (const text of ['1'.repeat(1e6), '1h '.repeat(3e5), `P${'1'.repeat(1e6)}`, 'P'.repeat(1e6), '1 '.repeat(5e5)]) {
    const before = performance.now()
    t.ok(refusal(text).message.length < 300)
    t.ok(performance.now() - before < 1000)
  }
})

t.test('as an option, the error has its path', async (t) => {
  const schema = optionsObject({ resetAfter: duration(1, 60) })
  t.equal(parseOptions(schema, { resetAfter: 'PT1M' }, 'config').resetAfter, 60)
  const problem = (input: unknown) => {
    try {
      parseOptions(schema, input, 'config')
    } catch (error) {
      if (error instanceof AllowanceOptionsError) return error.message
    }
    throw new Error('was accepted')
  }
  t.equal(
    problem({ reset_after: '2min' }),
    `config.reset_after: must be a duration from 1 to 60 whole seconds, ${EXAMPLES}, got "2min"`,
  )
  t.equal(problem({}), `config.resetAfter: is missing; must be a duration from 1 to 60 whole seconds, ${EXAMPLES}`)
})

function refusal(text: unknown, bounds?: { min: number; max: number }): Error {
  try {
    parseDuration(text as string, bounds)
  } catch (error) {
    return error as Error
  }
  throw new Error(`was accepted: ${JSON.stringify(text)}`)
}
