/** The protocol in which a request must be answered. */
export type Protocol = 'connect-unary' | 'connect-stream' | 'grpc' | 'grpc-web' | 'grpc-web-text'

/**
 * The one classifier of the protocol of an RPC's request, from its content type alone: what it says about codec,
 * charset or anything else must not decide how a refusal is written. Whatever is no other protocol is answered as
 * Connect unary, whose JSON anyone can read: Connect GET, a wrong method, a wrong content type, curl.
 * See https://connectrpc.com/docs/protocol and https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
export function protocolOf(contentType: string | undefined): Protocol {
  const type = mediaType(contentType)
  if (is(type, 'application/grpc-web-text')) return 'grpc-web-text'
  if (is(type, 'application/grpc-web')) return 'grpc-web'
  if (is(type, 'application/grpc')) return 'grpc'
  if (is(type, 'application/connect')) return 'connect-stream'
  return 'connect-unary'
}

/** The media type in lower case, without parameters: `application/json` of `Application/JSON; charset=utf-8`. */
export function mediaType(contentType: string | undefined): string {
  if (contentType === undefined) return ''
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** Whether a media type is `base`, with or without a codec (`+proto`). */
function is(type: string, base: string): boolean {
  return type === base || type.startsWith(`${base}+`)
}
