import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { bounds } from '../bounds.ts'
import {
  type BackendService,
  GetInboxIdsResponseSchema,
  QueryNewestResponseSchema,
  QueryResponseSchema,
} from '../gen/example/v1/backend_pb.ts'
import type { Store } from '../store.ts'
import { toStoredEnvelope } from '../stored-envelope.ts'

/** The reads: one read of the store each, whose `request` unit is spent before it. */
export function query(store: Store): Pick<ServiceImpl<typeof BackendService>, 'query' | 'queryNewest' | 'getInboxIds'> {
  return {
    query({ topics, afterSequenceId, limit }) {
      const rows = store.query(topics, afterSequenceId, limit || bounds.page)
      return create(QueryResponseSchema, { envelopes: rows.map(toStoredEnvelope) })
    },
    queryNewest({ topics }) {
      return create(QueryNewestResponseSchema, { envelopes: store.queryNewest(topics).map(toStoredEnvelope) })
    },
    getInboxIds({ identifiers }) {
      return create(GetInboxIdsResponseSchema, { inboxIds: store.inboxIds(identifiers) })
    },
  }
}
