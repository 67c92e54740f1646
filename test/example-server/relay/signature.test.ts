import { sign } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { canonicalJson, hasNameTwice } from '../../../example-server/relay/canonical-json.ts'
import { verifySubmission } from '../../../example-server/relay/signature.ts'
import { parseSubmission } from '../../../example-server/relay/submission.ts'
import { somebody } from './harness.ts'

const json = fc.jsonValue({ maxDepth: 6 })

t.test('the example of RFC 8785, and names that look like indexes', async (t) => {
  const example = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  t.equal(
    canonicalJson(JSON.parse(example)),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
  const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33']
  const object = Object.fromEntries(sorted.toReversed().map((name) => [name, 0]))
  t.equal(canonicalJson(object), `{${sorted.map((name) => `${JSON.stringify(name)}:0`).join(',')}}`)
  t.equal(canonicalJson({ 10: 0, 9: 0, a: 0, B: 0 }), '{"10":0,"9":0,"B":0,"a":0}')
  t.equal(canonicalJson(JSON.parse('{"b":-0,"__proto__":{"a":1}}')), '{"__proto__":{"a":1},"b":0}')
})

t.test('it says the same as the value, in one way only', async () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value)!
      return JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(canonicalJson(JSON.parse(text))!))
    }),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), (object) => {
      const reversed = Object.fromEntries(Object.entries(object).reverse())
      return canonicalJson(object) === canonicalJson(reversed)
    }),
  )
})

t.test('a name given twice is found, however it is written and wherever it is', async (t) => {
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value, null, 1)
      return !hasNameTwice(text, canonicalJson(JSON.parse(text))!)
    }),
  )
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":1}',
    '{"b":[{"a":"\\"","c":{},"a":"\\\\"}]}',
    '{"a":"x","a":1}',
    '{"__proto__":1,"__proto__":2}',
  ]) {
    t.ok(hasNameTwice(text, canonicalJson(JSON.parse(text))!), text)
  }
})

t.test('what has no canonical text', async (t) => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  t.ok(canonicalJson(nested(32)))
  t.equal(canonicalJson(nested(33)), undefined)
  t.equal(canonicalJson({ a: [nested(5000)] }), undefined)
  t.equal(canonicalJson(JSON.parse('{"a":[1e999]}')), undefined)
})

t.test('a body that is not canonical is not verified, also when a signature of it could be made', async (t) => {
  const ann = somebody()
  const parse = (text: string) => parseSubmission(Buffer.from(text))
  const fields = { recipient: ann.identity, sender: ann.identity }
  const signature = sign(null, Buffer.from(`relay message\n${JSON.stringify(fields)}`), ann.privateKey).toString('hex')
  const { recipient, sender } = fields
  const sound = JSON.stringify({ recipient, sender, signature })
  t.match(verifySubmission(parse(sound), 'message'), { id: /^[0-9a-f]{64}$/ })
  t.equal(verifySubmission(parse(sound), 'ack'), 'forged')
  t.equal(verifySubmission(parse(sound.replace('{', '{"sender":"eve",')), 'message'), 'ambiguous')
  t.equal(verifySubmission(parse(sound.replace('{', '{"a":1e999,')), 'message'), 'ambiguous')
  t.equal(
    verifySubmission(parse(sound.replace('{', `{"a":${'['.repeat(40)}${']'.repeat(40)},`)), 'message'),
    'ambiguous',
  )
})

t.test('any change of what was signed is seen', async () => {
  const [ann, bob] = [somebody(), somebody()]
  const sent = ann.message(bob.identity, 'hello')
  const verdict = (fields: object) => verifySubmission(parseSubmission(Buffer.from(JSON.stringify(fields))), 'message')
  fc.assert(
    fc.property(fc.string(), json, (name, value) => {
      if (Object.hasOwn(sent, name)) return true
      return verdict({ ...sent, [name]: value }) === 'forged'
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 63 }), fc.integer({ min: 1, max: 255 }), (at, bits) => {
      const bytes = Buffer.from(sent.signature, 'hex')
      bytes[at]! ^= bits
      return verdict({ ...sent, signature: bytes.toString('hex') }) === 'forged'
    }),
  )
})

t.test('no 32 bytes that claim to be a key make it throw', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.constantFrom(0, 1, 255).map((byte) => new Uint8Array(32).fill(byte)),
      ),
      fc.uint8Array({ minLength: 64, maxLength: 64 }),
      (key, signature) => {
        const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
        const text = JSON.stringify({ sender: hex(key), signature: hex(signature) })
        return verifySubmission(parseSubmission(Buffer.from(text)), 'message') === 'forged'
      },
    ),
  )
})

t.test('the sender that is claimed', async (t) => {
  const rows: [body: string | Buffer, sender: string | undefined][] = [
    ['{"sender":"ann"}', 'ann'],
    [' {"sender" : "\\u0061nn"} ', 'ann'],
    ['{"sender":"ann","sender":"bob"}', 'bob'],
    [`{"sender":"${'a'.repeat(256)}"}`, 'a'.repeat(256)],
    [`{"sender":"${'a'.repeat(257)}"}`, undefined],
    ['{"sender":""}', undefined],
    ['{"sender":["ann"]}', undefined],
    ['{"sender":null}', undefined],
    ['{"sender":1}', undefined],
    ['{"__proto__":{"sender":"ann"}}', undefined],
    ['["ann"]', undefined],
    ['"ann"', undefined],
    ['null', undefined],
    ['', undefined],
    ['\ufeff{"sender":"ann"}', undefined],
    ['{"sender":"ann"', undefined],
    [Buffer.from('{"sender":"\xff"}', 'latin1'), undefined],
    ['['.repeat(8000), undefined],
    ['['.repeat(4000) + ']'.repeat(4000), undefined],
    [`{"a":${'['.repeat(4000)}${']'.repeat(4000)},"sender":"ann"}`, 'ann'],
  ]
  for (const [body, sender] of rows) {
    t.equal(parseSubmission(Buffer.from(body)).sender, sender, body.toString().slice(0, 40))
  }
})
