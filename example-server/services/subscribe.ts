import { create } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { allowanceOf, type OpenStream } from '../../src/index.ts'
import { bounds } from '../bounds.ts'
import {
  AppliedSchema,
  type BackendService,
  type SubscribeRequest,
  SubscribeResponseSchema,
  SubscribeStaticResponseSchema,
} from '../gen/example/v1/backend_pb.ts'
import { type Cursor, Delivery } from '../live/delivery.ts'
import type { Hub } from '../live/hub.ts'
import type { Store } from '../store.ts'

const STARTED = { case: 'started', value: {} } as const

/** The streams: history above the client's cursors, then what is published. Each pays its rent before it holds anything. */
export function subscribe(
  store: Store,
  hub: Hub,
): Pick<ServiceImpl<typeof BackendService>, 'subscribe' | 'subscribeStatic'> {
  return {
    async *subscribe(updates, context) {
      const stream = await allowanceOf(context).openStream(0)
      const delivery = new Delivery(hub, store, stream)
      // A client that half-closes keeps what it holds.
      const apply = async () => {
        for await (const update of updates) await applyUpdate(update, stream, delivery, store)
      }
      apply().then(
        () => delivery.complete(),
        (error: unknown) => delivery.fail(error),
      )
      yield create(SubscribeResponseSchema, { event: STARTED })
      for await (const event of delivery.events()) yield create(SubscribeResponseSchema, { event })
    },

    async *subscribeStatic({ topics }, context) {
      const stream = await allowanceOf(context).openStream(topics.length)
      const delivery = new Delivery(hub, store, stream)
      delivery.hold(topics)
      yield create(SubscribeStaticResponseSchema, { event: STARTED })
      for await (const event of delivery.events()) {
        if (event.case === 'messages') yield create(SubscribeStaticResponseSchema, { event })
      }
    },
  }
}

async function applyUpdate(update: SubscribeRequest, stream: OpenStream, delivery: Delivery, store: Store) {
  const { updateId, adds, removes } = update
  const removed = new Set(removes.filter((topic) => delivery.has(topic)))
  const added = new Map<string, Cursor>()
  for (const cursor of adds) {
    const isHeld = delivery.has(cursor.topic) && !removed.has(cursor.topic)
    if (!isHeld && !added.has(cursor.topic)) added.set(cursor.topic, cursor)
  }
  const topics = delivery.topics - removed.size + added.size
  if (topics > bounds.heldTopics) {
    const problem = `adds: ${topics} topics held in all; allowed: 0 to ${bounds.heldTopics}`
    throw new ConnectError(problem, Code.InvalidArgument)
  }
  // Denied, it ends the stream here: nothing is registered, and nothing applied (RATE-031, 034).
  await stream.update(topics, { registers: added.size > 0 })
  delivery.drop([...removed])
  const newest = () => store.newestOf([...added.keys()])
  const targetSequenceId = delivery.hold([...added.values()], added.size > 0 ? newest : undefined) ?? 0n
  await delivery.confirm(create(AppliedSchema, { updateId, topics, targetSequenceId }))
}
