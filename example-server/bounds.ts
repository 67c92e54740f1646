import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import {
  CreateUploadRequestSchema,
  type Envelope,
  GetInboxIdsRequestSchema,
  PublishRequestSchema,
  QueryNewestRequestSchema,
  QueryRequestSchema,
  RegisterRequestSchema,
  SubscribeRequestSchema,
  SubscribeStaticRequestSchema,
  type TopicCursor,
  UpdateSubscriptionsRequestSchema,
  VerifySmartContractWalletSignaturesRequestSchema,
} from './gen/example/v1/backend_pb.ts'

/** What one request may ask for. */
export const bounds = {
  envelopes: 1000,
  topics: 1000,
  identifiers: 1000,
  walletSignatures: 100,
  /** Envelopes that one Query returns. */
  page: 100,
  /** In UTF-8. */
  nameBytes: 256,
  messageBytes: 65_536,
  signaturesPerUpdate: 16,
  signaturesPerPublish: 256,
  deliveryTokenBytes: 4096,
  installationIdBytes: [16, 64],
  topicsPerInstallation: 10_000,
  /** Topics that a stream holds, and that one update of it adds or removes. */
  heldTopics: 10_000,
  /** Envelopes of one message of a stream, unless a single one is longer. */
  messagesBytes: 1_048_576,
  /** What waits for a client that does not read its stream; more is read from the store when it does. Holds any one request of Publish. */
  waitingBytes: 8_388_608,
  uploadBytes: 26_214_400,
  /** The whole request message; a longer one is not read (Connect answers resource_exhausted, without details). */
  requestBytes: 4_194_304,
} as const

/** Names the first thing that a request has too much or too little of, and what is allowed; undefined: it is well-formed. */
type Check<Desc extends DescMessage> = (message: MessageShape<Desc>) => string | undefined

const checks = new Map<string, (message: never) => string | undefined>()

function check<Desc extends DescMessage>(schema: Desc, run: Check<Desc>): void {
  checks.set(schema.typeName, run)
}

check(
  PublishRequestSchema,
  ({ envelopes }) =>
    entries('envelopes', envelopes, 0, bounds.envelopes) ?? first(envelopes, envelope) ?? signatureTotal(envelopes),
)
check(
  QueryRequestSchema,
  ({ topics, limit }) =>
    entries('topics', topics, 1, bounds.topics) ?? first(topics, topic) ?? range('limit', limit, 0, bounds.page),
)
check(QueryNewestRequestSchema, ({ topics }) => entries('topics', topics, 1, bounds.topics) ?? first(topics, topic))
check(
  GetInboxIdsRequestSchema,
  ({ identifiers }) =>
    entries('identifiers', identifiers, 1, bounds.identifiers) ??
    first(identifiers, (identifier, i) => name(`identifiers[${i}]`, identifier)),
)
check(
  VerifySmartContractWalletSignaturesRequestSchema,
  ({ requests }) =>
    entries('requests', requests, 0, bounds.walletSignatures) ??
    first(requests, ({ message }, i) => bytes(`requests[${i}].message`, message.length, 0, bounds.messageBytes)),
)
check(
  RegisterRequestSchema,
  ({ installationId, deliveryToken }) =>
    installation(installationId) ?? name('delivery_token', deliveryToken, bounds.deliveryTokenBytes),
)
check(
  UpdateSubscriptionsRequestSchema,
  ({ installationId, adds, removes }) =>
    installation(installationId) ??
    entries('adds', adds, 0, bounds.topics) ??
    entries('removes', removes, 0, bounds.topics) ??
    first(adds, (added, i) => name(`adds[${i}]`, added)) ??
    first(removes, (removed, i) => name(`removes[${i}]`, removed)),
)
check(CreateUploadRequestSchema, ({ sizeBytes }) => range('size_bytes', sizeBytes, 1, bounds.uploadBytes))

check(
  SubscribeRequestSchema,
  ({ adds, removes }) =>
    entries('adds', adds, 0, bounds.heldTopics) ??
    entries('removes', removes, 0, bounds.heldTopics) ??
    first(adds, cursor('adds')) ??
    first(removes, (removed, i) => name(`removes[${i}]`, removed)),
)
check(
  SubscribeStaticRequestSchema,
  ({ topics }) =>
    entries('topics', topics, 0, bounds.heldTopics) ?? first(topics, cursor('topics')) ?? repetition(topics),
)

/** Refuses a request that is not well-formed, and each message of a stream, as `invalid_argument`. */
export const checkBounds: Interceptor = (next) => (request) => {
  const problemOf = checks.get(request.method.input.typeName)
  if (problemOf === undefined) return next(request)
  if (request.stream) return next({ ...request, message: checkedMessages(request.message, problemOf) })
  refuse(problemOf(request.message as never))
  return next(request)
}

async function* checkedMessages<T>(messages: AsyncIterable<T>, problemOf: (message: never) => string | undefined) {
  for await (const message of messages) {
    refuse(problemOf(message as never))
    yield message
  }
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new ConnectError(problem, Code.InvalidArgument)
}

function envelope({ topic: to, payload }: Envelope, i: number): string | undefined {
  const where = `envelopes[${i}]`
  const badTopic = name(`${where}.topic`, to)
  if (badTopic) return badTopic
  switch (payload.case) {
    case 'applicationMessage':
      return bytes(`${where}.application_message`, payload.value.length, 0, bounds.messageBytes)
    case 'identityUpdate': {
      const { inboxId, signatures } = payload.value
      return (
        name(`${where}.identity_update.inbox_id`, inboxId) ??
        entries(`${where}.identity_update.signatures`, signatures, 1, bounds.signaturesPerUpdate)
      )
    }
    default:
      return `${where}: no payload; allowed: application_message or identity_update`
  }
}

function signatureTotal(envelopes: readonly Envelope[]): string | undefined {
  let total = 0
  for (const { payload } of envelopes) if (payload.case === 'identityUpdate') total += payload.value.signatures.length
  return range('signatures in the request', total, 0, bounds.signaturesPerPublish)
}

function topic(value: string, i: number): string | undefined {
  return name(`topics[${i}]`, value)
}

function cursor(list: string): (cursor: TopicCursor, i: number) => string | undefined {
  return ({ topic: of }, i) => name(`${list}[${i}].topic`, of)
}

function repetition(topics: readonly TopicCursor[]): string | undefined {
  const seen = new Set<string>()
  return first(topics, ({ topic: of }, i) =>
    seen.size === seen.add(of).size
      ? `topics[${i}]: the topic of an entry before; allowed: each topic once`
      : undefined,
  )
}

function installation(id: Uint8Array): string | undefined {
  const [least, most] = bounds.installationIdBytes
  return bytes('installation_id', id.length, least, most)
}

// SQLite's JSON would cut a name at U+0000, and a lone surrogate has no UTF-8.
function name(where: string, value: string, most: number = bounds.nameBytes): string | undefined {
  if (!value.isWellFormed() || /\p{Cc}/u.test(value))
    return `${where}: allowed: Unicode text without control characters`
  return bytes(where, Buffer.byteLength(value), 1, most)
}

function entries(where: string, list: readonly unknown[], least: number, most: number): string | undefined {
  return within(list.length, least, most) ? undefined : outside(where, `${list.length} entries`, least, most)
}

function bytes(where: string, length: number, least: number, most: number): string | undefined {
  return within(length, least, most) ? undefined : outside(where, `${length} bytes`, least, most)
}

function range(where: string, value: number | bigint, least: number, most: number): string | undefined {
  return within(value, least, most) ? undefined : outside(where, `${value}`, least, most)
}

function within(value: number | bigint, least: number, most: number): boolean {
  return value >= least && value <= most
}

function outside(where: string, found: string, least: number, most: number): string {
  return `${where}: ${found}; allowed: ${least} to ${most}`
}

function first<T>(list: readonly T[], run: (item: T, i: number) => string | undefined): string | undefined {
  for (const [i, item] of list.entries()) {
    const problem = run(item, i)
    if (problem !== undefined) return problem
  }
  return undefined
}
