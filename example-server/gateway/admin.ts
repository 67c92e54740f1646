import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AllowanceOptionsError } from '../../src/index.ts'
import { createApiKeys } from '../auth/api-keys.ts'
import { isTable, type Report } from '../config-values.ts'
import { sendProblem } from './answers.ts'
import { parseRoute, type RouteContext } from './config-route.ts'
import type { Route, RouteTable } from './route-table.ts'

export interface AdminOptions {
  table: RouteTable
  /** Absent: nobody may. */
  adminToken?: string | undefined
  context: RouteContext
}

const SAVED = 'in memory, until the gateway stops: the configuration file is as it was'
const MOST_ROUTES = 1000

/** Lets requests through that carry the admin token; a browser asks for it as a password. */
export function createGuard(adminToken: string | undefined, scheme: 'Bearer' | 'Basic') {
  const known = createApiKeys(new Map(adminToken === undefined ? [] : [['admin', adminToken]]))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const secret = secretOf(request.headers.authorization ?? '', scheme)
    if (secret !== undefined && known(secret) !== undefined) return undefined
    reply.header('www-authenticate', `${scheme} realm="gateway"`)
    return sendProblem(request, reply, 401)
  }
}

function secretOf(authorization: string, scheme: 'Bearer' | 'Basic'): string | undefined {
  const bearer = /^Bearer +([\w.~-]+)$/i.exec(authorization)?.[1]
  if (bearer !== undefined || scheme === 'Bearer') return bearer
  const basic = /^Basic +([\w+/]+=*)$/i.exec(authorization)?.[1]
  return basic && Buffer.from(basic, 'base64').toString().split(':', 2)[1]
}

/** Admin calls: `GET /-/admin/routes`, and GET, PUT and DELETE of `/-/admin/routes/:name`. They cost nothing. */
export function addAdmin(app: FastifyInstance, { table, adminToken, context }: AdminOptions): void {
  app.register(async (scope) => {
    scope.addHook('onRequest', createGuard(adminToken, 'Bearer'))
    const config = { allowance: { free: true as const } }
    const named = { config, bodyLimit: 256 * 1024 }
    scope.get('/-/admin/routes', { config }, async () => ({ routes: table.all().map(written) }))
    scope.get<Named>('/-/admin/routes/:name', named, async (request, reply) => {
      const route = table.get(request.params.name)
      return route ? written(route) : sendProblem(request, reply, 404)
    })
    scope.put<Named>('/-/admin/routes/:name', named, async (request, reply) => {
      const { name } = request.params
      const problems: string[] = []
      const report: Report = (path, problem) => problems.push(`${path}: ${problem}`)
      const route = parseRoute(withName(request.body, name, report), '', context, report)
      const others = table.all().filter((other) => other.name !== name)
      const twin = others.find(({ prefix }) => prefix === route?.prefix)
      if (twin) report('prefix', `must be its own, got the one of the route ${twin.name}`)
      if (others.length >= MOST_ROUTES) report('name', `must be one of the ${MOST_ROUTES} routes that there are`)
      if (route === undefined || problems.length > 0) return sendProblem(request, reply, 422, { problems })
      const isNew = table.get(name) === undefined
      try {
        return reply.code(isNew ? 201 : 200).send({ ...written(table.save(route)), saved: SAVED })
      } catch (error) {
        if (!(error instanceof AllowanceOptionsError)) throw error
        const detail = 'There is no memory for the counters of these rules; allowed: what max_memory_mib leaves.'
        return sendProblem(request, reply, 507, { detail })
      }
    })
    scope.delete<Named>('/-/admin/routes/:name', named, async (request, reply) => {
      if (table.get(request.params.name) === undefined) return sendProblem(request, reply, 404)
      table.remove(request.params.name)
      return reply.code(204).send()
    })
  })
}

interface Named {
  Params: { name: string }
  Body: unknown
}

/** The name is in the path; the body may repeat it. */
function withName(body: unknown, name: string, report: Report): unknown {
  if (!isTable(body)) return body
  if (body.name !== undefined && body.name !== name) report('name', 'must be the one in the path, or left out')
  return { ...body, name }
}

/** A route as it is written in an admin call, with what is to be known of it. */
function written({ name, prefix, upstream, timeoutMs, rules, openapi, operations, warnings }: Route) {
  return {
    name,
    prefix,
    upstream: upstream.href,
    timeout: `PT${timeoutMs / 1000}S`,
    rules: rules.map(({ windowSeconds: _, ...rule }) => rule),
    ...(openapi !== undefined && { openapi }),
    operations: operations.map(({ operation, rules: own }) => ({
      operation,
      rules: own.map(({ windowSeconds: _, ...rule }) => rule),
    })),
    warnings,
  }
}
