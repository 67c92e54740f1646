import type { DescMessage } from '@bufbuild/protobuf'
import t from 'tap'
import { compileCountPath } from '../../src/charge/count-path.ts'
import { EditionRequestSchema } from '../gen/test/v1/edition_pb.ts'
import { EnvelopeSchema, EnvelopesRequestSchema, GroupMessageSchema } from '../gen/test/v1/envelope_pb.ts'
import { LegacyRequestSchema } from '../gen/test/v1/legacy_pb.ts'
import { errorOf } from './error-of.ts'

const envelope = 'the fields of test.v1.Envelope are data, identity_update, group_message, raw'
const edition =
  'the fields of test.v1.EditionRequest are explicit_text, implicit_text, required_number, part, parts, named'
const leaf = 'a leaf must be repeated or have presence'
const through = 'a path can pass only through messages'

const rows: readonly (readonly [schema: DescMessage, path: string, message: string])[] = [
  [EnvelopeSchema, '', `count path "" is empty; allowed: field names joined by dots; ${envelope}`],
  [EnvelopeSchema, '.', `count path "." has an empty segment; ${envelope}`],
  [EnvelopesRequestSchema, 'envelopes.', `count path "envelopes." has an empty segment; ${envelope}`],
  [EnvelopesRequestSchema, 'envelopes..raw', `count path "envelopes..raw" has an empty segment; ${envelope}`],
  [
    EditionRequestSchema,
    'envelopes',
    `count path "envelopes": test.v1.EditionRequest has no field "envelopes"; ${edition}`,
  ],
  [
    EditionRequestSchema,
    ' parts',
    `count path " parts": test.v1.EditionRequest has no field " parts" (did you mean "parts"?); ${edition}`,
  ],
  [
    EditionRequestSchema,
    'Parts',
    `count path "Parts": test.v1.EditionRequest has no field "Parts" (did you mean "parts"?); ${edition}`,
  ],
  [
    EditionRequestSchema,
    'toString',
    `count path "toString": test.v1.EditionRequest has no field "toString"; ${edition}`,
  ],
  [
    EditionRequestSchema,
    '__proto__',
    `count path "__proto__": test.v1.EditionRequest has no field "__proto__"; ${edition}`,
  ],
  [
    EnvelopesRequestSchema,
    'envelopes[0].raw',
    'count path "envelopes[0].raw": test.v1.EnvelopesRequest has no field "envelopes[0]" (did you mean "envelopes"?); the fields of test.v1.EnvelopesRequest are envelopes, first, last, by_topic, labels, kinds, plain_text, note, cursor, kind, kind_if_any, kind_list, digests, sent_at, title, titles, extra, extras, any_value, user, reply_to, details, number, nested',
  ],
  [
    EnvelopesRequestSchema,
    'envelopes.identityUpdate',
    `count path "envelopes.identityUpdate": test.v1.Envelope has no field "identityUpdate" (did you mean "identity_update"?); ${envelope}`,
  ],
  [
    EnvelopesRequestSchema,
    'envelopes.identity_updat',
    `count path "envelopes.identity_updat": test.v1.Envelope has no field "identity_updat" (did you mean "identity_update"?); ${envelope}`,
  ],
  [
    EnvelopesRequestSchema,
    'envelopes.group_message.text',
    'count path "envelopes.group_message.text": test.v1.GroupMessage has no field "text"; the fields of test.v1.GroupMessage are (none)',
  ],
  [
    GroupMessageSchema,
    'any',
    'count path "any": test.v1.GroupMessage has no field "any"; the fields of test.v1.GroupMessage are (none)',
  ],
  [
    LegacyRequestSchema,
    'Header.tags',
    'count path "Header.tags": test.v1.LegacyRequest has no field "Header" (did you mean "header"?); the fields of test.v1.LegacyRequest are id, name, size, kind, numbers, header, entry, flag, body',
  ],
  [
    EnvelopesRequestSchema,
    'envelopes.payload',
    'count path "envelopes.payload": "payload" of test.v1.Envelope is a oneof, not a field; name one of its members: identity_update, group_message, raw',
  ],
  [
    EnvelopesRequestSchema,
    'envelopes.raw.size',
    `count path "envelopes.raw.size": "raw" of test.v1.Envelope is a single string value; ${through}`,
  ],
  [
    EnvelopesRequestSchema,
    'digests.size',
    `count path "digests.size": "digests" of test.v1.EnvelopesRequest is a list of bytes values; ${through}`,
  ],
  [
    EnvelopesRequestSchema,
    'labels.value',
    `count path "labels.value": "labels" of test.v1.EnvelopesRequest is a map of string values; ${through}`,
  ],
  [
    EnvelopesRequestSchema,
    'kinds.value',
    `count path "kinds.value": "kinds" of test.v1.EnvelopesRequest is a map of test.v1.Kind values; ${through}`,
  ],
  [
    EnvelopesRequestSchema,
    'kind_list.value',
    `count path "kind_list.value": "kind_list" of test.v1.EnvelopesRequest is a list of test.v1.Kind values; ${through}`,
  ],
  [
    EnvelopesRequestSchema,
    'plain_text',
    `count path "plain_text": "plain_text" of test.v1.EnvelopesRequest is a single string value without presence; ${leaf}`,
  ],
  [
    EnvelopesRequestSchema,
    'kind',
    `count path "kind": "kind" of test.v1.EnvelopesRequest is a single test.v1.Kind value without presence; ${leaf}`,
  ],
  [
    EnvelopesRequestSchema,
    'envelopes.data',
    `count path "envelopes.data": "data" of test.v1.Envelope is a single bytes value without presence; ${leaf}`,
  ],
  [
    EnvelopesRequestSchema,
    'sent_at.seconds',
    `count path "sent_at.seconds": "seconds" of google.protobuf.Timestamp is a single int64 value without presence; ${leaf}`,
  ],
  [
    EnvelopesRequestSchema,
    'titles.value',
    `count path "titles.value": "value" of google.protobuf.StringValue is a single string value without presence; ${leaf}`,
  ],
  [
    EditionRequestSchema,
    'implicit_text',
    `count path "implicit_text": "implicit_text" of test.v1.EditionRequest is a single string value without presence; ${leaf}`,
  ],
  [
    EnvelopesRequestSchema,
    'title.value',
    'count path "title.value": "title" of test.v1.EnvelopesRequest is a google.protobuf.StringValue; a path can end there, but not pass through it',
  ],
  [
    EnvelopesRequestSchema,
    'extra.fields',
    'count path "extra.fields": "extra" of test.v1.EnvelopesRequest is a google.protobuf.Struct; a path can end there, but not pass through it',
  ],
  [
    EnvelopesRequestSchema,
    'extras.fields',
    'count path "extras.fields": "extras" of test.v1.EnvelopesRequest is a google.protobuf.Struct; a path can end there, but not pass through it',
  ],
  [
    EnvelopesRequestSchema,
    'details.fields',
    'count path "details.fields": "details" of test.v1.EnvelopesRequest is a google.protobuf.Struct; a path can end there, but not pass through it',
  ],
]

for (const [schema, path, message] of rows) {
  t.test(`a count path "${path}" in ${schema.typeName} is refused by name`, async (t) => {
    t.equal(errorOf(() => compileCountPath(schema, path)).message, message)
  })
}
