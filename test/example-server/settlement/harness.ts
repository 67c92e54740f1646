import { randomBytes } from 'node:crypto'
import { listenAt } from '../../../example-server/listen.ts'
import { parseConfig } from '../../../example-server/settlement/config.ts'
import { demoKey } from '../../../example-server/settlement/demo.ts'
import { createSettlementServer, type SettlementServerOptions } from '../../../example-server/settlement/server.ts'
import { publicKeyInHex, signedParams } from '../../../example-server/settlement/signed-call.ts'
import type { MethodName } from '../../../example-server/settlement/submission.ts'
import { manualClock } from '../../../src/index.ts'

interface Teardown {
  teardown(run: () => unknown): unknown
}

export const MINUTE = 60_000_000_000n
export const HOUR = 60n * MINUTE
export const MS = 1_000_000n

/** Networks 1 to 4, by their demo keys. */
export const NETWORKS = [1, 2, 3, 4]
  .map((id) => `[networks.${id}]\npublic-key = "${publicKeyInHex(demoKey(id))}"\n`)
  .join('')

/** A server on the loopback, whose time stands still unless `clock` is moved, with the lines that it logs. */
export async function start(t: Teardown, toml: string, options: Partial<SettlementServerOptions> = {}) {
  const clock = manualClock()
  const config = parseConfig(`${toml}\n${NETWORKS}`, 'test.toml')
  const l1 = fakeL1()
  const logged: string[] = []
  const log = { write: (line: string) => logged.push(line) }
  const server = await createSettlementServer({ config, clock, settle: l1.settle, log, ...options })
  const url = await listenAt(server.http, { host: '127.0.0.1', port: 0 })
  t.teardown(() => {
    l1.settleAll()
    return server.close()
  })
  const post = (body: string | Uint8Array, headers = {}) => postTo(url, body, headers)
  const send = async (method: MethodName, networkId: number, payload: Uint8Array = randomBytes(8)): Promise<Outcome> =>
    outcomeOf((await post(callText(method, networkId, payload))).json)
  return {
    ...server,
    clock,
    l1,
    logged,
    url,
    post,
    sendTx: (networkId: number, payload?: Uint8Array) => send('sendTx', networkId, payload),
    sendCertificate: (networkId: number, payload?: Uint8Array) => send('sendCertificate', networkId, payload),
  }
}

export interface RpcAnswer {
  jsonrpc: '2.0'
  id: unknown
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

export async function postTo(url: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body as string,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) as RpcAnswer }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A call as its network sends it, signed with `key`. */
export function callText(method: MethodName, networkId: number, payload: Uint8Array, key = demoKey(networkId), id = 7) {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: signedParams(method, networkId, payload, key) })
}

/** `settled`, why the limits refuse it, or the code of another error. */
export type Outcome = 'settled' | number | Record<string, unknown>

export function outcomeOf({ result, error }: RpcAnswer): Outcome {
  if (error === undefined) return /^0x[0-9a-f]{64}$/.test(result as string) ? 'settled' : Number.NaN
  if (error.code !== -10007) return error.code
  return (error.data as { 'rate-limited': { error: Record<string, unknown> } })['rate-limited'].error
}

export function txLimited(max: number, seconds: number, untilNext: number | null): Outcome {
  return {
    'send-tx-rate-limited': { 'max-per-interval': max, 'time-interval': seconds, 'until-next': untilNext },
  }
}

export function certificateLimited(max: number): Outcome {
  return { 'send-certificate-rate-limited': { 'max-per-epoch': max } }
}

/** An L1 on which everything is settled at once, or, once `hold` is called, when the test says so. */
export function fakeL1() {
  const open: { resolve(hash: string): void; reject(error: Error): void }[] = []
  const arrivals: (() => void)[] = []
  let holding = false
  let posted = 0
  const hash = () => {
    posted += 1
    return `0x${posted.toString(16).padStart(64, '0')}`
  }
  return {
    settle: async () => {
      if (!holding) return hash()
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      open.push({ resolve, reject })
      for (const arrive of arrivals.splice(0)) arrive()
      return promise
    },
    hold: () => {
      holding = true
    },
    /** Resolves when `count` settlements are open. */
    async opened(count: number) {
      while (open.length < count) await new Promise<void>((resolve) => arrivals.push(resolve))
    },
    settleOne: () => open.shift()!.resolve(hash()),
    failOne: () => open.shift()!.reject(new Error('SECRET of the L1')),
    settleAll: () => {
      holding = false
      for (const { resolve } of open.splice(0)) resolve(hash())
    },
    get open() {
      return open.length
    },
    /** How many were settled. */
    get posted() {
      return posted
    },
  }
}
