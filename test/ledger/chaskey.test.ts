import t from 'tap'
import { Chaskey } from '../../src/ledger/chaskey.ts'

/** The vectors of Chaskey-12 that its author publishes, of those messages that are whole words: bytes 0, 1, 2, … under this key. */
const key = Int32Array.of(0x833d3433, 0x009f389f, 0x2398e64f, 0x417acf39)
const vectors: Readonly<Record<number, string>> = {
  4: '0b2b62db 1e9e3f50 a1b8dcad b4279ae0',
  8: '9faf57d6 f4bc02cf 6af6d831 d2930d90',
  12: 'c040258c f25392c0 9f6b5dc0 35c3d638',
  16: '5dd0e2a9 fb5eac8c 633a392e 500c36f3',
  20: 'ece3bdb9 17e5a589 64aa2eef 9a75eced',
  24: '9f01c148 ae4fc446 6563e38e d5483b99',
  28: '76d1eb98 8c72085a 77155006 bf389002',
  32: '77962784 07c647fa dd752c0f d2f5a799',
  36: 'a98ecb80 5ef583cf 4e20e76e 7873b8f1',
  40: '155ab3ab 73d51ed7 ac6f3601 ef6aa85c',
  44: '4bdfff32 b258591a 26ad161b e3445e89',
  48: 'f36e748b 8f34677f 1e00ba1b dd7da46d',
  52: '4ec246aa 01edaab3 bfe09c48 7c5c4c45',
  56: '9ab66191 7daf7dff 868090ae 35b7d6c6',
  60: 'a8f07a68 366fc33b af00eefb 1a48a9df',
}

function codeOf(chaskey: Chaskey, length: number): string {
  const bytes = Uint8Array.from({ length: length + 16 }, (_, i) => (i < length ? i : 0xff))
  const code = new Int32Array(4)
  chaskey.codeInto(code, new Int32Array(bytes.buffer), length / 4)
  return Array.from(code, (word) => (word >>> 0).toString(16).padStart(8, '0')).join(' ')
}

t.test('Chaskey-12 is what its author says, for full and for filled blocks', async (t) => {
  const chaskey = new Chaskey(key)
  for (const [length, code] of Object.entries(vectors))
    t.equal(codeOf(chaskey, Number(length)), code, `${length} bytes`)
})

t.test('another key gives another code', async (t) => {
  for (const [word, bit] of [0, 1, 2, 3].flatMap((word) => [0, 1, 31].map((bit) => [word, bit] as const))) {
    const other = key.slice()
    other[word]! ^= 1 << bit
    t.not(codeOf(new Chaskey(other), 16), vectors[16], `bit ${bit} of word ${word}`)
  }
})
