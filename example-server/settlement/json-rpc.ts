import { isTable } from '../config-values.ts'

/** The most calls of a batch. */
export const MAX_CALLS = 50

/** An error that its caller is told of: everything in it is sent. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

/** What a method does. Its result is sent; what it throws is sent too where it is an RpcError. */
export type Method = (params: unknown) => unknown

/** What is sent back: status 204 has no body. */
export interface Answer {
  readonly status: 200 | 204 | 400
  readonly body?: string
}

type Id = string | number | null

/**
 * Answers a body of JSON-RPC 2.0: a call, or a batch of up to `MAX_CALLS`, which run side by side. What is a call is answered
 * with status 200, whether it succeeds or not, since clients of JSON-RPC read no body of another; what is none, with 400.
 * @param fault Told of what a method throws that is no RpcError; its caller reads "Internal error".
 */
export async function answerCalls(
  body: Buffer,
  methods: ReadonlyMap<string, Method>,
  fault: (error: unknown, method: string) => void,
): Promise<Answer> {
  const parsed = parse(body)
  if (parsed === undefined) return refusal(-32700, 'Parse error')
  if (!Array.isArray(parsed.value)) {
    const answered = await answerCall(parsed.value, methods, fault)
    if (answered === undefined) return { status: 204 }
    return { status: answered.isCall ? 200 : 400, body: answered.text }
  }
  if (parsed.value.length === 0) return refusal(-32600, 'Invalid Request', 'a batch must have at least one call')
  if (parsed.value.length > MAX_CALLS) {
    return refusal(-32600, 'Invalid Request', `a batch must have at most ${MAX_CALLS} calls`)
  }
  const answers = await Promise.all(parsed.value.map((call) => answerCall(call, methods, fault)))
  const texts = answers.flatMap((answer) => (answer === undefined ? [] : [answer.text]))
  return texts.length === 0 ? { status: 204 } : { status: 200, body: `[${texts.join(',')}]` }
}

/** The answer to a body that is no call. */
export function refusal(code: number, message: string, data?: string): Answer & { body: string } {
  return { status: 400, body: errorText(null, new RpcError(code, message, data)) }
}

function parse(body: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)) }
  } catch {
    return undefined
  }
}

/** undefined: the call is a notification, which has no answer. */
async function answerCall(
  value: unknown,
  methods: ReadonlyMap<string, Method>,
  fault: (error: unknown, method: string) => void,
): Promise<{ isCall: boolean; text: string } | undefined> {
  const call = readCall(value)
  if (typeof call === 'string') {
    return { isCall: false, text: errorText(null, new RpcError(-32600, 'Invalid Request', call)) }
  }
  const { id, method, params } = call
  const text = await run(methods, method, params, fault).then(
    (result) => JSON.stringify({ jsonrpc: '2.0', id: id ?? null, result }),
    (error: RpcError) => errorText(id ?? null, error),
  )
  return id === undefined ? undefined : { isCall: true, text }
}

async function run(
  methods: ReadonlyMap<string, Method>,
  name: string,
  params: unknown,
  fault: (error: unknown, method: string) => void,
): Promise<unknown> {
  const method = methods.get(name)
  if (method === undefined)
    throw new RpcError(-32601, 'Method not found', `must be one of ${[...methods.keys()].join(', ')}`)
  try {
    return await method(params)
  } catch (error) {
    if (error instanceof RpcError) throw error
    fault(error, name)
    throw new RpcError(-32603, 'Internal error')
  }
}

/** What is wrong with it, where it is no call. */
function readCall(value: unknown): { id: Id | undefined; method: string; params: unknown } | string {
  if (!isTable(value)) return 'a call must be an object'
  const { jsonrpc, id, method, params } = value
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0"'
  if (typeof method !== 'string') return 'method must be a string'
  if (params !== undefined && (typeof params !== 'object' || params === null))
    return 'params must be an object or an array'
  // A greater number would be sent back as another.
  const isId = id === undefined || id === null || typeof id === 'string' || Number.isSafeInteger(id)
  return isId
    ? { id: id as Id | undefined, method, params }
    : 'id must be a string, a whole number up to 2^53 - 1, or null'
}

function errorText(id: Id, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
}
