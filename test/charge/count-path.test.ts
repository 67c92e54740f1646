import { create, type DescMessage, fromBinary, fromJson, type Message, toBinary } from '@bufbuild/protobuf'
import t from 'tap'
import { compileCountPath } from '../../src/charge/count-path.ts'
import { EditionRequestSchema } from '../gen/test/v1/edition_pb.ts'
import { AwkwardRequestSchema, EnvelopesRequestSchema, Kind } from '../gen/test/v1/envelope_pb.ts'
import { LegacyKind, LegacyRequestSchema } from '../gen/test/v1/legacy_pb.ts'

const erc6492 = { kind: { case: 'erc6492' as const, value: {} } }
const erc191 = { kind: { case: 'erc191' as const, value: {} } }
const update = (...signatures: (typeof erc6492 | typeof erc191)[]) => ({
  payload: { case: 'identityUpdate' as const, value: { signatures } },
})

const envelopes = create(EnvelopesRequestSchema, {
  envelopes: [
    update(erc6492, erc191, erc6492),
    update(),
    {},
    { payload: { case: 'groupMessage', value: {} } },
    update(erc6492),
    { payload: { case: 'raw', value: '' } },
  ],
  first: update(erc191),
  byTopic: { a: update(erc6492), __proto__key: {}, constructor: update() },
  labels: { 1: '', 2: 'two', [-3]: 'three' },
  kinds: { true: Kind.UNSPECIFIED },
  note: '',
  kindIfAny: Kind.UNSPECIFIED,
  kindList: [Kind.SMALL, Kind.SMALL],
  digests: [new Uint8Array()],
  sentAt: {},
  title: '',
  titles: [{ value: '' }],
  extra: {},
  extras: [{ fields: {} }, {}],
  anyValue: { kind: { case: 'structValue', value: { fields: { a: {}, b: {} } } } },
  target: { case: 'number', value: { value: 0 } },
  nested: [{ nested: [{}, {}] }, { nested: [{}], target: { case: 'replyTo', value: update(erc191, erc191) } }],
})

const legacy = create(LegacyRequestSchema, {
  id: '',
  kind: LegacyKind.ONE,
  numbers: [0n, 0n],
  header: { tags: ['a', 'b'] },
  entry: [{ key: 'x', inner: { id: '', numbers: [1n] } }, { key: 'y' }, { key: 'z', inner: { id: '' } }],
  choice: { case: 'body', value: { parts: ['a', 'b', 'c'] } },
})

const edition = create(EditionRequestSchema, {
  explicitText: '',
  requiredNumber: 0,
  part: { tags: ['a'] },
  parts: [{ size: 7n }, { tags: ['b', 'c'] }],
  named: { one: { size: 1n, tags: [''] }, two: {} },
})

type Row = readonly [path: string, expected: number]

const rows: readonly (readonly [DescMessage, Message, readonly Row[]])[] = [
  [
    EnvelopesRequestSchema,
    envelopes,
    [
      ['envelopes', 6],
      ['envelopes.identity_update', 3],
      ['envelopes.identity_update.signatures', 4],
      ['envelopes.identity_update.signatures.erc_6492', 3],
      ['envelopes.identity_update.signatures.erc_191', 1],
      ['envelopes.identity_update.signatures.erc_6492.block_number', 0],
      ['envelopes.group_message', 1],
      ['envelopes.raw', 1],
      ['first', 1],
      ['first.identity_update.signatures', 1],
      ['last', 0],
      ['last.identity_update.signatures', 0],
      ['by_topic', 3],
      ['by_topic.identity_update', 2],
      ['by_topic.identity_update.signatures.erc_6492', 1],
      ['labels', 3],
      ['kinds', 1],
      ['note', 1],
      ['cursor', 0],
      ['kind_if_any', 1],
      ['kind_list', 2],
      ['digests', 1],
      ['sent_at', 1],
      ['title', 1],
      ['titles', 1],
      ['extra', 1],
      ['extras', 2],
      ['any_value', 1],
      ['any_value.struct_value.fields', 2],
      ['user', 0],
      ['number', 1],
      ['details', 0],
      ['reply_to.identity_update.signatures', 0],
      ['nested.nested', 3],
      ['nested.reply_to', 1],
      ['nested.reply_to.identity_update.signatures', 2],
    ],
  ],
  [
    LegacyRequestSchema,
    legacy,
    [
      ['id', 1],
      ['name', 0],
      ['size', 0],
      ['kind', 1],
      ['numbers', 2],
      ['header', 1],
      ['header.title', 0],
      ['header.tags', 2],
      ['entry', 3],
      ['entry.key', 3],
      ['entry.inner', 2],
      ['entry.inner.numbers', 1],
      ['flag', 0],
      ['body', 1],
      ['body.parts', 3],
    ],
  ],
  [
    EditionRequestSchema,
    edition,
    [
      ['explicit_text', 1],
      ['required_number', 1],
      ['part', 1],
      ['part.size', 0],
      ['part.tags', 1],
      ['parts.size', 1],
      ['parts.tags', 2],
      ['named', 2],
      ['named.size', 1],
      ['named.tags', 1],
    ],
  ],
]

for (const [schema, message, paths] of rows) {
  t.test(`count paths in ${schema.typeName}`, async (t) => {
    const received = fromBinary(schema, toBinary(schema, message))
    const empty = create(schema)
    for (const [path, expected] of paths) {
      const count = compileCountPath(schema, path)
      t.equal(count(message), expected, path)
      t.equal(count(received), expected, `${path}, from the wire`)
      t.equal(count(empty), 0, `${path}, in an empty message`)
    }
  })
}

t.test('a map key that is special in JavaScript is one entry like any other', async (t) => {
  const binary = toBinary(EnvelopesRequestSchema, create(EnvelopesRequestSchema, { byTopic: { ['__proto__']: {} } }))
  const message = fromBinary(EnvelopesRequestSchema, binary)
  t.equal(compileCountPath(EnvelopesRequestSchema, 'by_topic')(message), 1)
  t.equal(compileCountPath(EnvelopesRequestSchema, 'by_topic.identity_update')(message), 0)
})

t.test('what a message inherits is not set in it', async (t) => {
  const fields = ['constructor', 'has_own_property', 'to_string']
  const counts = (message: Message) => fields.map((path) => compileCountPath(AwkwardRequestSchema, path)(message))
  t.same(counts(create(AwkwardRequestSchema)), [0, 0, 0])
  t.same(
    counts(fromJson(AwkwardRequestSchema, { constructor: '', hasOwnProperty: '', toString: ['a', 'b'] })),
    [1, 1, 2],
  )
})

t.test('properties that a program added to Object.prototype are not counted', async (t) => {
  const message = create(EnvelopesRequestSchema, { byTopic: { a: {} }, labels: { 1: 'one' } })
  const prototype = Object.prototype as unknown as Record<string, unknown>
  t.teardown(() => {
    delete prototype.note
  })
  prototype.note = 'added'
  for (const [path, expected] of [
    ['note', 0],
    ['labels', 1],
    ['by_topic', 1],
    ['by_topic.identity_update', 0],
  ] as const) {
    t.equal(compileCountPath(EnvelopesRequestSchema, path)(message), expected, path)
  }
})

t.test('a count never leaves the whole numbers up to 2^53-1', async (t) => {
  // One list shared by very many entries: no message from the wire gets near, a message from a program can.
  const huge = { length: 2 ** 32 - 1 } as unknown as []
  const inner = create(EnvelopesRequestSchema)
  inner.digests = huge as never
  const middle = create(EnvelopesRequestSchema)
  middle.nested = new Array(2 ** 11).fill(inner)
  const outer = create(EnvelopesRequestSchema)
  outer.nested = new Array(2 ** 11).fill(middle)
  t.equal(compileCountPath(EnvelopesRequestSchema, 'nested.digests')(middle), 2 ** 11 * (2 ** 32 - 1))
  t.equal(compileCountPath(EnvelopesRequestSchema, 'nested.nested.digests')(outer), Number.MAX_SAFE_INTEGER)
})
