import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

/** The token of a server that was started without one. Everyone knows it: it is for trying the server out. */
export const DEMO_TOKEN = 'demo-api-token'

export function isToken(text: string): boolean {
  return /^[\x21-\x7e]{1,1024}$/.test(text)
}

/** Tells whether a request carries the API token. */
export type HasToken = (request: FastifyRequest) => boolean

/** Compares in a time that says nothing about the token; works it out once for each request. */
export function createHasToken(token: string): HasToken {
  const expected = digest(token)
  const known = new WeakMap<FastifyRequest, boolean>()
  return (request) => {
    let valid = known.get(request)
    if (valid === undefined) {
      const [, given] = /^Bearer +([\x21-\x7e]{1,1024})$/i.exec(request.headers.authorization ?? '') ?? []
      valid = given !== undefined && timingSafeEqual(digest(given), expected)
      known.set(request, valid)
    }
    return valid
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
