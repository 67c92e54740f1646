import { Code } from '@connectrpc/connect'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import { ErrorInfoSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts'
import { denialMessage, type Rejected } from './denial-error.ts'
import { REASON } from './reason.ts'
import { retryAfterSeconds } from './retry-after.ts'
import type { Fields } from './wire-rejection.ts'

/**
 * A denial, encoded as connect-es encodes `denialError`, byte by byte. Refusing must be cheap, and making that error, with
 * its stack, and encoding its details took longer than all else that is done for a request that is refused. Bytes are in
 * strings, one a character: all of them but those of lengths and numbers are ASCII.
 */
export interface EncodedDenial {
  readonly message: string
  /** The metadata of the error: `retry-after`, or none. */
  readonly metadata: Fields
  /** The error in JSON, as Connect has it. https://connectrpc.com/docs/protocol#error-end-stream */
  readonly json: () => string
  /** The google.rpc.Status with its details, in base64, as gRPC has it. */
  readonly statusDetails: () => string
}

/** A message that is packed in google.protobuf.Any, in both encodings. */
interface Detail {
  readonly json: string
  readonly any: string
}

const code = Code.ResourceExhausted
const codeName = codeToString(code)

/** Encodes the denials of one domain. What all denials of a category have in common is encoded once. */
export class DenialEncoder {
  readonly #domain: string
  readonly #errorInfos = new Map<string, Detail>()

  /** @param domain Visible ASCII. */
  constructor(domain: string) {
    this.#domain = domain
  }

  /** @param rejected Of a declared category, or hold: their names are remembered, and are lower-case ASCII. */
  encode(rejected: Rejected): EncodedDenial {
    const { retryDelayMs } = rejected
    const message = denialMessage(rejected)
    const details = () => [
      this.#errorInfo(rejected.category),
      ...(retryDelayMs === null ? [] : [retryInfo(retryDelayMs)]),
    ]
    return {
      message,
      metadata: retryDelayMs === null ? [] : [['retry-after', String(retryAfterSeconds(retryDelayMs))]],
      json: () => {
        const all = details().map(({ json }) => json)
        return `{"code":"${codeName}","message":"${message}","details":[${all.join()}]}`
      },
      statusDetails: () => {
        const all = details().map(({ any }) => bytesField(3, any))
        return base64(numberField(1, code) + bytesField(2, message) + all.join(''))
      },
    }
  }

  #errorInfo(category: string): Detail {
    let info = this.#errorInfos.get(category)
    if (info === undefined) {
      const entry = bytesField(1, 'category') + bytesField(2, category)
      const value = bytesField(1, REASON) + bytesField(2, this.#domain) + bytesField(3, entry)
      const debug = JSON.stringify({ reason: REASON, domain: this.#domain, metadata: { category } })
      info = detail(ErrorInfoSchema.typeName, value, debug)
      this.#errorInfos.set(category, info)
    }
    return info
  }
}

/** The status as fields of the trailers of gRPC, in alphabetical order. */
export function statusFields({ message, metadata, statusDetails }: EncodedDenial): Fields {
  return [
    ['grpc-message', encodeURIComponent(message)],
    ['grpc-status', String(code)],
    ['grpc-status-details-bin', statusDetails()],
    ...metadata,
  ]
}

/** A message of a stream as Connect and gRPC-Web frame it. @param message Shorter than 4 GiB. */
export function envelope(flags: number, message: string): string {
  const { length } = message
  return String.fromCharCode(flags, length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255) + message
}

function retryInfo(ms: number): Detail {
  const seconds = Math.floor(ms / 1000)
  const fraction = ms % 1000
  const duration = numberField(1, seconds) + numberField(2, fraction * 1_000_000)
  const text = fraction === 0 ? `${seconds}s` : `${seconds}.${String(fraction).padStart(3, '0')}s`
  return detail(RetryInfoSchema.typeName, bytesField(1, duration), `{"retryDelay":"${text}"}`)
}

/** @param debug The message in JSON. */
function detail(type: string, value: string, debug: string): Detail {
  return {
    json: `{"type":"${type}","debug":${debug},"value":"${base64(value)}"}`,
    any: bytesField(1, `type.googleapis.com/${type}`) + bytesField(2, value),
  }
}

/** A field of a protobuf message that is a string, bytes or a message. https://protobuf.dev/programming-guides/encoding */
function bytesField(number: number, bytes: string): string {
  return String.fromCharCode((number << 3) | 2) + varint(bytes.length) + bytes
}

/** A field that is a whole number. Where it is 0 it is left out. */
function numberField(number: number, value: number): string {
  return value === 0 ? '' : String.fromCharCode(number << 3) + varint(value)
}

function varint(value: number): string {
  let bytes = ''
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes += String.fromCharCode((rest % 128) | 128)
  return bytes + String.fromCharCode(rest)
}

/** Without padding. */
function base64(bytes: string): string {
  return btoa(bytes).replace(/=+$/, '')
}
