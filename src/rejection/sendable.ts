import { validateHeaderValue } from 'node:http'
import { ConnectError } from '@connectrpc/connect'

/** What belongs to one connection (RFC 9110, section 7.6.1; RFC 9113, section 8.2.2) or is the writer's own to say. */
const notMetadata = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Whether Node would refuse to send it: `Headers` takes control characters that Node does not. */
function isNoHeader([name, value]: [string, string]): boolean {
  try {
    validateHeaderValue(name, value)
    return false
  } catch {
    return true
  }
}

/**
 * The error with only such metadata as may go out with it. An error that came off the wire is an upstream's, and its
 * metadata are the headers of the upstream's answer, cookies among them: none of it is for this client, as in connect-es.
 */
export function sendable(error: ConnectError): ConnectError {
  const isForbidden = (line: [string, string]) => error.isWireError || notMetadata.has(line[0]) || isNoHeader(line)
  const lines = [...error.metadata]
  if (!lines.some(isForbidden)) return error
  const metadata = lines.filter((line) => !isForbidden(line))
  const sent = new ConnectError(error.rawMessage, error.code, metadata, undefined, error.cause)
  sent.details = error.details
  return sent
}
