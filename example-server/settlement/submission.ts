import { createHash } from 'node:crypto'
import { isTable } from '../config-values.ts'
import { RpcError } from './json-rpc.ts'

export type MethodName = 'sendTx' | 'sendCertificate'

/** The name that each method has for what it settles. */
export const PAYLOADS = { sendTx: 'tx', sendCertificate: 'certificate' } as const satisfies Record<MethodName, string>

const MAX_NETWORK_ID = 2 ** 32 - 1
const MAX_PAYLOAD_BYTES = 16 * 1024
const HEX = /^0x(?:[0-9a-f]{2})+$/i

/** What a network wants settled. Nothing is said of whether the network sent it. */
export interface Submission {
  readonly method: MethodName
  readonly networkId: number
  readonly payload: Buffer
  readonly signature: Buffer
  /** The bytes that the signature signs. */
  readonly message: Buffer
  /** The same for all submissions of the same payload by the same network and method. */
  readonly id: string
}

/**
 * What a network signs: the method and its id in the text `settlement/v1\n<method>\n<id>\n`, and then the payload's bytes, so
 * that no signature is good for another method or network.
 */
export function messageOf(method: MethodName, networkId: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`settlement/v1\n${method}\n${networkId}\n`), payload])
}

/**
 * Reads the params of a call, by name or by position: `network-id`, `tx` or `certificate`, `signature`.
 * @throws {RpcError} -32602.
 */
export function readSubmission(method: MethodName, params: unknown): Submission {
  const names = ['network-id', PAYLOADS[method], 'signature']
  const [networkId, payload, signature] = valuesOf(params, names)
  if (!Number.isInteger(networkId) || (networkId as number) < 0 || (networkId as number) > MAX_NETWORK_ID) {
    throw invalid(`network-id: must be a whole number from 0 to ${MAX_NETWORK_ID}`)
  }
  const bytes = bytesOf(payload, MAX_PAYLOAD_BYTES)
  if (bytes === undefined) {
    throw invalid(`${PAYLOADS[method]}: must be 0x and 1 to ${MAX_PAYLOAD_BYTES} bytes in hexadecimal digits`)
  }
  const signed = bytesOf(signature, 64)
  if (signed?.length !== 64) throw invalid('signature: must be 0x and 64 bytes in hexadecimal digits')
  const message = messageOf(method, networkId as number, bytes)
  const id = createHash('sha256').update(message).digest('hex')
  return { method, networkId: networkId as number, payload: bytes, signature: signed, message, id }
}

function valuesOf(params: unknown, names: readonly string[]): unknown[] {
  if (Array.isArray(params) && params.length === names.length) return params
  if (!isTable(params)) throw invalid(`must be ${names.join(', ')}, by name or in this order`)
  // The names that were sent are not repeated.
  if (Object.keys(params).length > names.length) throw invalid(`must have no other than ${names.join(', ')}`)
  return names.map((name) => (Object.hasOwn(params, name) ? params[name] : undefined))
}

function bytesOf(value: unknown, max: number): Buffer | undefined {
  if (typeof value !== 'string' || value.length > 2 + 2 * max || !HEX.test(value)) return undefined
  return Buffer.from(value.slice(2), 'hex')
}

function invalid(why: string): RpcError {
  return new RpcError(-32602, 'Invalid params', why)
}
