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

/**
 * The error with only such metadata as may go out with it. An error that came off the wire is an upstream's, and its
 * metadata are the headers of the upstream's answer, cookies among them: none of it is for this client, as in connect-es.
 */
export function sendable(error: ConnectError): ConnectError {
  const forbidden = [...error.metadata.keys()].some((name) => error.isWireError || notMetadata.has(name))
  if (!forbidden) return error
  const metadata = error.isWireError ? [] : [...error.metadata].filter(([name]) => !notMetadata.has(name))
  const sent = new ConnectError(error.rawMessage, error.code, metadata, undefined, error.cause)
  sent.details = error.details
  return sent
}
