import { Session } from 'node:inspector/promises'
import { setTimeout } from 'node:timers/promises'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { z } from 'zod'
import { bounds } from './bounds.ts'
import { check } from './check.ts'
import { Refused } from './refused.ts'

const cpuQuery = z.strictObject({
  seconds: z
    .string()
    .regex(/^[1-9]\d?$/, { error: `must be a whole number from 1 to ${bounds.profileSeconds}` })
    .transform(Number)
    .refine((seconds) => seconds <= bounds.profileSeconds, {
      error: `must be a whole number from 1 to ${bounds.profileSeconds}`,
    })
    .default(1),
})

/** Serves profiles of this process, for development: of its memory, and of its CPU for some seconds. */
export function addProfiles(app: FastifyInstance, requireToken: onRequestHookHandler): void {
  app.get('/debug/profiles/heap', { onRequest: requireToken }, (_request, reply) =>
    reply.send({ ...getHeapStatistics(), spaces: getHeapSpaceStatistics() }),
  )
  let profiling = false
  app.get('/debug/profiles/cpu', { onRequest: requireToken }, async (request, reply) => {
    const { seconds } = check(cpuQuery, { ...(request.query as object) }, 'query')
    if (profiling) throw new Refused(409, 'a profile is being taken already')
    profiling = true
    const session = new Session()
    session.connect()
    try {
      await session.post('Profiler.enable')
      await session.post('Profiler.start')
      await setTimeout(seconds * 1000)
      const { profile } = await session.post('Profiler.stop')
      return reply.send(profile)
    } finally {
      session.disconnect()
      profiling = false
    }
  })
}
