import { create, fromBinary } from '@bufbuild/protobuf'
import { EnvelopeSchema, type StoredEnvelope, StoredEnvelopeSchema } from './gen/example/v1/backend_pb.ts'
import type { EnvelopeRow } from './store.ts'

/** An envelope as clients read it, from the row that it is stored as. */
export function toStoredEnvelope({ sequenceId, storedAtMs, envelope }: EnvelopeRow): StoredEnvelope {
  return create(StoredEnvelopeSchema, {
    sequenceId,
    storedAtMs: BigInt(storedAtMs),
    envelope: fromBinary(EnvelopeSchema, envelope),
  })
}
