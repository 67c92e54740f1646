import { generateKeyPairSync } from 'node:crypto'
import { createRelayServer, type RelayServerOptions } from '../../../example-server/relay/server.ts'
import { type Counts, DEFAULT_LIMITS } from '../../../example-server/relay/settings.ts'
import { identityOf, type Purpose, signFields } from '../../../example-server/relay/signature.ts'
import { type Limiter, manualClock } from '../../../src/index.ts'

/** When the relays of these tests start. */
export const STARTED = '2026-03-28T12:00:00Z'

interface Teardown {
  teardown(run: () => unknown): unknown
}

/** Counts by window; those that are not named do not limit. */
export function counts(some: Partial<Counts>): Counts {
  return { minute: 0, hour: 0, day: 0, ...some }
}

/** A relay on the loopback, whose time stands still unless `clock` is moved, with the lines that it logs. */
export async function start(
  t: Teardown,
  limits: { sender?: Partial<Counts>; global?: Partial<Counts> } = {},
  options: RelayServerOptions = {},
) {
  const clock = manualClock(0n, Date.parse(STARTED))
  const logged: string[] = []
  const relay = await createRelayServer({
    limits: {
      sender: limits.sender ? counts(limits.sender) : DEFAULT_LIMITS.sender,
      global: limits.global ? counts(limits.global) : DEFAULT_LIMITS.global,
    },
    clock,
    log: { write: (line) => logged.push(line) },
    ...options,
  })
  t.teardown(() => relay.close())
  const url = await relay.app.listen({ host: '127.0.0.1', port: 0, listenTextResolver: () => 'listening' })
  const post = (path: string, body: string | Uint8Array | object) => postTo(url, path, body)
  return {
    ...relay,
    clock,
    logged,
    url,
    port: Number(new URL(url).port),
    post,
    /** Moves the time by milliseconds. */
    pass: (ms: number) => clock.advance(BigInt(ms) * 1_000_000n),
    /** The status of a message in the name of somebody who has not signed it: 401 once it has passed the limiter. */
    forge: async (sender: string, path = '/messages') => (await post(path, { ...FORGED, sender })).status,
    get: async (path: string, method = 'GET') => {
      const response = await fetch(`${url}${path}`, { method })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
  }
}

export type Relay = Awaited<ReturnType<typeof start>>

/** What is left under the limits that are about a request without a sender. */
export function leftOf(limiter: Limiter) {
  return limiter.remaining(limiter.resolve({ type: 'ip', address: '127.0.0.1' }, { request: {} }), 'request')
}

/** Posts bytes, a text, or an object as JSON. */
export async function postTo(url: string, path: string, body: string | Uint8Array | object) {
  const plain = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: plain ? (body as string) : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

function parsed(text: string) {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** What `send` answers, one after the other, in brief: `20 x 401, 2 x 429`. */
export async function inRow(times: number, send: (i: number) => Promise<number>): Promise<string> {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) statuses.push(await send(i))
  return inBrief(statuses)
}

/** `20 x 401, 2 x 429`, in the order of first appearance. */
export function inBrief(statuses: readonly number[]): string {
  const tally = new Map<number, number>()
  for (const status of statuses) tally.set(status, (tally.get(status) ?? 0) + 1)
  return [...tally].map(([status, times]) => `${times} x ${status}`).join(', ')
}

/** Somebody with a key pair. */
export function somebody() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const identity = identityOf(publicKey)
  const signed = (fields: object, purpose: Purpose) => signFields({ sender: identity, ...fields }, purpose, privateKey)
  return {
    identity,
    privateKey,
    /** A message, signed. */
    message: (recipient: string, content: unknown = 'hello') => signed({ recipient, content }, 'message'),
    /** An acknowledgement, signed. */
    ack: (messageId: string) => signed({ message_id: messageId }, 'ack'),
  }
}

const FORGED = { recipient: '22'.repeat(32), content: 'hello', signature: '0'.repeat(128) }
