import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Clock } from '../../src/index.ts'
import { isIdentity, keyOf, type Purpose, verifySubmission } from './signature.ts'
import type { RelayStore } from './store.ts'
import { parseSubmission, type Submission } from './submission.ts'

/** The longest body. What is longer is refused unread, and costs nothing. */
const MAX_BODY_BYTES = 8192

/** Charged once the body says whose sender it claims to be, and before anything is made of it. */
const BY_SENDER = {
  bodyLimit: MAX_BODY_BYTES,
  config: { allowance: { charges: 1, step: 'preHandler' } },
  onRequest: readAsJson,
} as const
/** Of these only the global bound knows, which needs no body. */
const PUBLIC = { config: { allowance: { charges: 1 } } } as const

/** The routes of the relay. */
export function addRoutes(app: FastifyInstance, store: RelayStore, clock: Clock): void {
  // It never throws: what is no JSON object is refused when the limiter has counted it, and not before.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, parseSubmission(body as Buffer)),
  )

  app.post('/messages', BY_SENDER, (request, reply) => {
    const sent = verified(request, reply, 'message')
    if (sent === undefined) return reply
    const { recipient } = sent.fields
    if (!isIdentity(recipient))
      return invalid(reply, 'recipient: must be an identity, 64 lower-case hexadecimal digits')
    store.addMessage({ id: sent.id, recipient, text: sent.text }, clock.wall())
    return reply.code(202).send({ id: sent.id })
  })

  app.post('/acks', BY_SENDER, (request, reply) => {
    const sent = verified(request, reply, 'ack')
    if (sent === undefined) return reply
    const { message_id: id } = sent.fields
    if (typeof id !== 'string') return invalid(reply, 'message_id: must be the id of a message, a text')
    if (!store.addAck(id, sent.sender, sent.text, clock.wall()))
      return reply.code(404).send({ error: 'unknown_message' })
    return reply.code(202).send({ message_id: id })
  })

  app.get('/health', PUBLIC, () => ({ status: 'ok' }))

  app.get<{ Params: { identity: string } }>('/identities/:identity', PUBLIC, (request, reply) => {
    const { identity } = request.params
    if (!isIdentity(identity)) return reply.code(404).send({ error: 'unknown_identity' })
    return { identity, key: keyOf(identity) }
  })

  // Something fresh to sign; the relay remembers none of them.
  app.get('/auth/challenge', PUBLIC, (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { challenge: randomBytes(32).toString('base64url') }
  })
}

/** Whatever a body is called: of a name that makes no sense Fastify would refuse it before the limiter has counted it. */
function readAsJson(...[request, , done]: Parameters<onRequestHookHandler>): void {
  request.headers['content-type'] = 'application/json'
  done()
}

/** What was sent, if its sender has signed it; else nothing, and `reply` has been answered. */
function verified(request: FastifyRequest, reply: FastifyReply, purpose: Purpose) {
  const { text, fields, sender } = (request.body ?? {}) as Partial<Submission>
  if (text === undefined || fields === undefined) {
    invalid(reply, 'the body must be a JSON object, in UTF-8')
    return undefined
  }
  if (sender === undefined) {
    invalid(reply, 'sender: must be a text of 1 to 256 characters')
    return undefined
  }
  const verdict = verifySubmission({ text, fields }, purpose)
  if (verdict === 'forged') {
    reply.code(401).header('www-authenticate', 'Ed25519').send({ error: 'invalid_signature' })
    return undefined
  }
  if (verdict === 'ambiguous') {
    invalid(reply, 'the body must have no name twice, no number beyond a double, and no more than 32 levels')
    return undefined
  }
  return { ...verdict, text, fields, sender }
}

/** Says what must be sent, and nothing of what was. */
function invalid(reply: FastifyReply, reason: string): FastifyReply {
  return reply.code(400).send({ error: 'invalid_message', reason })
}
