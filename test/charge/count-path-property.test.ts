import { type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import fc from 'fast-check'
import t from 'tap'
import { compileCountPath } from '../../src/charge/count-path.ts'
import { EditionRequestSchema } from '../gen/test/v1/edition_pb.ts'
import { EnvelopesRequestSchema } from '../gen/test/v1/envelope_pb.ts'
import { LegacyRequestSchema } from '../gen/test/v1/legacy_pb.ts'
import { allowedPaths, anyMessage, countByReflection } from './random-message.ts'

const schemas: readonly DescMessage[] = [EnvelopesRequestSchema, LegacyRequestSchema, EditionRequestSchema]

for (const schema of schemas) {
  t.test(`every count path of ${schema.typeName} counts what reflection counts`, async (t) => {
    const counters = allowedPaths(schema, 3).map((path) => ({ path, count: compileCountPath(schema, path) }))
    const present = new Set<string>()
    fc.assert(
      fc.property(anyMessage(schema, 3), (message) => {
        for (const { path, count } of counters) {
          const expected = countByReflection(reflect(schema, message), path.split('.'))
          if (count(message) !== expected) throw new Error(`${path}: ${count(message)}, not ${expected}`)
          if (expected > 0) present.add(path)
        }
      }),
    )
    t.ok(present.size > counters.length * 0.8, `${present.size} of ${counters.length} paths had something to count`)
  })

  t.test(`every count path of ${schema.typeName} counts the same in a message from the wire`, async () => {
    const counters = allowedPaths(schema, 3).map((path) => compileCountPath(schema, path))
    fc.assert(
      fc.property(anyMessage(schema, 2), (message) => {
        const received = fromBinary(schema, toBinary(schema, message))
        return counters.every((count) => count(received) === count(message))
      }),
    )
  })
}
