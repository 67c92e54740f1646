import fc from 'fast-check'
import t from 'tap'
import { emptyFingerprint, type Fingerprint, Fingerprinter, randomSalt } from '../../src/ledger/fingerprint.ts'

const wordsOf = ({ a, b, c, d }: Fingerprint) => [a, b, c, d]
const textOf = (print: Fingerprint) => wordsOf(print).join(' ')

/** Keys of every length around those of a block (eight code units, two of which say the length) and of the scratch buffer (1024 code units). */
const lengths = [
  0, 1, 2, 5, 6, 7, 8, 13, 14, 15, 16, 1001, 1002, 1003, 1004, 1005, 1006, 1022, 1023, 1024, 5000, 100_000,
]

t.test('a key has one fingerprint, whatever was asked before and however long it is', async (t) => {
  const prints = new Fingerprinter()
  const keys = lengths.map((length) => 'k'.repeat(length))
  const first = keys.map((key) => prints.of(key))
  for (const [i, key] of [...keys.entries()].reverse()) t.same(prints.of(key), first[i], `${key.length} code units`)
})

t.test('nobody knows the fingerprint of a key: each instance has a secret of its own', async (t) => {
  const instances = Array.from({ length: 50 }, () => new Fingerprinter())
  for (const length of lengths) {
    const prints = instances.map((prints) => wordsOf(prints.of('k'.repeat(length))))
    for (const word of [0, 1, 2, 3]) {
      // 50 at random of 2³²: two are alike in one of 70,000 runs of this test.
      t.equal(new Set(prints.map((words) => words[word])).size, 50, `word ${word} of a key of ${length} code units`)
    }
  }
})

t.test('keys that differ in anything have fingerprints that differ', async (t) => {
  const prints = new Fingerprinter()
  const keys = new Set<string>()
  for (const length of lengths) {
    const key = 'k'.repeat(length)
    for (const other of [
      key,
      `${key}x`,
      `${key}\0`,
      `x${key}`,
      `\0${key}`,
      `\u0100${key}`,
      `${key}\ud800`,
      `${key}\udfff`,
      `${key}\u0100`,
    ])
      keys.add(other)
  }
  const seen = new Set([...keys].map((key) => textOf(prints.of(key))))
  t.equal(seen.size, keys.size, `${keys.size} keys, prefixes and suffixes of each other`)
  for (const word of [0, 1, 2, 3]) {
    t.equal(new Set([...keys].map((key) => wordsOf(prints.of(key))[word])).size, keys.size, `even by word ${word}`)
  }

  const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code))
  const anyKey = fc.string({ unit: fc.oneof(fc.constantFrom('a', '\0'), unit), maxLength: 600 })
  fc.assert(
    fc.property(anyKey, anyKey, (a, b) => (a === b) === (textOf(prints.of(a)) === textOf(prints.of(b)))),
    { numRuns: 2000 },
  )
})

t.test('RATE-001: keys of two parts differ in where one ends, and keys of different kinds in those', async (t) => {
  const prints = new Fingerprinter()
  const print = (kind: number, first: string, second?: string) => {
    const found = emptyFingerprint()
    prints.into(found, kind, first, second)
    return textOf(found)
  }
  const seen = new Map<string, string>()
  const texts = [
    '',
    'a',
    'b',
    'aa',
    'ab',
    'aaa',
    'aab',
    '\0',
    '\0\0',
    '\u0001',
    '\u0002',
    '\u0001\0',
    'aaaaaaaaaaaaaaaa',
  ]
  for (const kind of [0, 1, 2, 3]) {
    for (const first of texts) {
      for (const second of [undefined, ...texts]) {
        const name = JSON.stringify([kind, first, second])
        const found = print(kind, first, second)
        t.equal(seen.get(found), undefined, name)
        seen.set(found, name)
        t.equal(print(kind, first, second), found, 'the same again')
      }
    }
  }
  const anyText = fc.string({ unit: fc.constantFrom('a', '\0', '\u0001', '\ud800'), maxLength: 20 })
  fc.assert(
    fc.property(
      anyText,
      anyText,
      anyText,
      anyText,
      (a, b, c, d) => (a === c && b === d) === (print(2, a, b) === print(2, c, d)),
    ),
    { numRuns: 2000 },
  )
})

t.test('a salt is random in each of its words', async (t) => {
  const salts = Array.from({ length: 50 }, () => wordsOf(randomSalt()))
  for (const word of [0, 1, 2, 3]) t.equal(new Set(salts.map((words) => words[word])).size, 50, `word ${word}`)
})
