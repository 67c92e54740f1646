import type { FastifyInstance } from 'fastify'
import allowance, { type AllowanceOptions, manualClock } from '../../src/index.ts'
import { apiKey } from './limiter-of.ts'
import { callerHeader, createFastify, domain, rateLimits, type Teardown } from './matrix-app.ts'

/** An app with the plugin, in which no RPC is registered yet. */
export const bareApp = async (t: Teardown, more: Partial<AllowanceOptions> = {}) => {
  const app = createFastify(false)
  t.teardown(() => app.close())
  const limits = rateLimits({ request: '100/60', work: '100/60' })
  await app.register(allowance, { domain, identify: callerHeader, clock: manualClock(), rateLimits: limits, ...more })
  return app
}

let callers = 0

/** Calls an RPC with two items for a new caller, and returns what it was charged. */
export const chargedFor = async (app: FastifyInstance, path: string) => {
  const caller = apiKey(`caller ${++callers}`)
  const response = await app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json', 'x-caller': caller.name },
    payload: JSON.stringify({ items: ['a', 'b'] }),
  })
  const left = (category: string) => app.allowance.limiter.remaining(caller, category)[0]!.units
  return { status: response.statusCode, request: 100 - left('request'), work: 100 - left('work') }
}
