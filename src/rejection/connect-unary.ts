import { Code, type ConnectError } from '@connectrpc/connect'
import { mergeNonProtocolHeaders } from '@connectrpc/connect/protocol'
import { codeToHttpStatus, contentTypeUnaryJson, errorToJsonBytes } from '@connectrpc/connect/protocol-connect'
import type { EncodedDenial } from './encoded-denial.ts'
import type { Fields, WireRejection } from './wire-rejection.ts'

/** A Connect unary error: its own HTTP status, and JSON whatever the codec of the request. https://connectrpc.com/docs/protocol#error-end-stream */
export function write(error: ConnectError): WireRejection {
  const headers = new Headers({ 'content-type': contentTypeUnaryJson })
  mergeNonProtocolHeaders(headers, error.metadata)
  return { status: codeToHttpStatus(error.code), headers, body: errorToJsonBytes(error, undefined) }
}

export function writeDenial(denial: EncodedDenial): WireRejection<Fields> {
  return {
    status: codeToHttpStatus(Code.ResourceExhausted),
    headers: [['content-type', contentTypeUnaryJson], ...denial.metadata],
    body: denial.json(),
  }
}
