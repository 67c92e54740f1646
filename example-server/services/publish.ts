import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import {
  type BackendService,
  type Envelope,
  EnvelopeSchema,
  type IdentityUpdate,
  PublishResponseSchema,
  StoredEnvelopeSchema,
} from '../gen/example/v1/backend_pb.ts'
import type { Hub } from '../live/hub.ts'
import { identityUpdateMessage, verifySignature } from '../signatures.ts'
import type { Association, Store } from '../store.ts'

/**
 * Publish: verifies the signatures of identity updates, then stores every envelope or none, and hands them to the streams.
 * Its charges are all spent.
 */
export function publish(store: Store, hub: Hub): Pick<ServiceImpl<typeof BackendService>, 'publish'> {
  return {
    publish({ envelopes }) {
      const associations = envelopes.flatMap((envelope, i) =>
        envelope.payload.case === 'identityUpdate' ? verifyUpdate(envelope.payload.value, i) : [],
      )
      const rows = envelopes.map(toRow)
      const nowMs = Date.now()
      const sequenceIds = store.publish(rows, associations, nowMs)
      for (const [i, { topic, envelope }] of rows.entries()) {
        const stored = { sequenceId: sequenceIds[i]!, storedAtMs: BigInt(nowMs), envelope: envelopes[i]! }
        hub.publish(topic, { envelope: create(StoredEnvelopeSchema, stored), bytes: envelope.length })
      }
      return create(PublishResponseSchema, { sequenceIds })
    },
  }
}

function toRow(envelope: Envelope) {
  return { topic: envelope.topic, envelope: toBinary(EnvelopeSchema, envelope) }
}

function verifyUpdate({ inboxId, signatures }: IdentityUpdate, i: number): Association[] {
  const message = identityUpdateMessage(inboxId)
  return signatures.map((signature, j) => {
    const verdict = verifySignature(message, signature)
    if (verdict.valid) return { identifier: verdict.identifier, inboxId }
    const where = `envelopes[${i}].identity_update.signatures[${j}]`
    throw new ConnectError(`${where}: ${verdict.reason}`, Code.InvalidArgument)
  })
}
