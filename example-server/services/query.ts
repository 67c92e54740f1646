import { create, fromBinary } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { bounds } from '../bounds.ts'
import {
  type BackendService,
  EnvelopeSchema,
  GetInboxIdsResponseSchema,
  QueryNewestResponseSchema,
  QueryResponseSchema,
  StoredEnvelopeSchema,
} from '../gen/example/v1/backend_pb.ts'
import type { EnvelopeRow, Store } from '../store.ts'

/** The reads: one read of the store each, whose `request` unit is spent before it. */
export function query(store: Store): Pick<ServiceImpl<typeof BackendService>, 'query' | 'queryNewest' | 'getInboxIds'> {
  return {
    query({ topics, afterSequenceId, limit }) {
      const rows = store.query(topics, afterSequenceId, limit || bounds.page)
      return create(QueryResponseSchema, { envelopes: rows.map(toStored) })
    },
    queryNewest({ topics }) {
      return create(QueryNewestResponseSchema, { envelopes: store.queryNewest(topics).map(toStored) })
    },
    getInboxIds({ identifiers }) {
      return create(GetInboxIdsResponseSchema, { inboxIds: store.inboxIds(identifiers) })
    },
  }
}

function toStored({ sequenceId, storedAtMs, envelope }: EnvelopeRow) {
  return create(StoredEnvelopeSchema, {
    sequenceId,
    storedAtMs: BigInt(storedAtMs),
    envelope: fromBinary(EnvelopeSchema, envelope),
  })
}
