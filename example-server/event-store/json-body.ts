import type { FastifyInstance } from 'fastify'
import { bounds } from './bounds.ts'
import { Refused } from './refused.ts'

/** Takes JSON bodies in UTF-8; one that is empty is no body, whatever its type. No other type is taken. */
export function addJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'buffer', bodyLimit: bounds.requestBytes } as const
  app.addContentTypeParser('application/json', options, (request, body: Buffer, done) => {
    if (body.length === 0) return done(null, undefined)
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    } catch {
      return done(new Refused(400, 'body: must be UTF-8'))
    }
    // Its messages quote the body.
    parse(request, text, (error, value) => (error ? done(new Refused(400, 'body: must be JSON')) : done(null, value)))
  })
}

/** Hands bodies of any type to the handler, unread. */
export function addUploads(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, body, done) => done(null, body))
}
