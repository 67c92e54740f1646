import type { Http2ServerRequest } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Denial } from '../limiter/denial.ts'
import { expireAnswer } from '../rejection/cut-off.ts'
import { exposedHeaders } from '../rejection/exposed-headers.ts'
import { PROBLEM_MEDIA_TYPE, quotaExceeded } from '../rejection/problem.ts'
import { type FieldStyle, rateLimitFields } from '../rejection/rate-limit-fields.ts'
import { retryAfterSeconds } from '../rejection/retry-after.ts'
import { leaveToFastify, type RejectionOptions } from '../rejection/send.ts'
import type { RequestAllowance } from '../request/request-allowance.ts'
import { quotaPolicies } from './quota.ts'
import type { RenderRejection } from './route-terms.ts'

/** How plain routes answer. */
export interface AnswerOptions {
  readonly rejection: RejectionOptions
  readonly fields: FieldStyle | 'none'
  /** Whether every response says what is left, and not only refusals. */
  readonly always: boolean
  readonly renderRejection: RenderRejection | undefined
}

/** Says on a response that is no refusal what is left, where that was asked for. */
export function tellWhatIsLeft(reply: FastifyReply, allowance: RequestAllowance, options: AnswerOptions): void {
  if (options.always) setFields(reply, allowance, undefined, options)
}

/**
 * Refuses a request to a plain route: 429 with `Retry-After` and what is left, as `application/problem+json` or in the app's own
 * body. A body that nobody has read is thrown away first, or cut off after the answer.
 */
export async function refuseRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  allowance: RequestAllowance,
  denial: Denial,
  options: AnswerOptions,
): Promise<void> {
  await leaveToFastify(request, reply, options.rejection)
  if (reply.sent) return
  reply.code(429)
  if (denial.retryDelayMs !== null) reply.header('retry-after', retryAfterSeconds(denial.retryDelayMs))
  const policies = setFields(reply, allowance, denial, options)
  expire(request, options)
  if (await rendered(request, reply, denial, options.renderRejection)) return
  reply
    .code(429)
    .type(PROBLEM_MEDIA_TYPE)
    .send(JSON.stringify(quotaExceeded(policies)))
}

/** Gives an answer up that its client does not take. On HTTP/1.1 what it takes is some bytes of the system's. */
function expire({ raw }: FastifyRequest, { rejection }: AnswerOptions): void {
  if ('stream' in raw) expireAnswer(raw as unknown as Http2ServerRequest, rejection.patience)
}

/** Answers by the app's renderer. A refusal whose renderer fails is a refusal all the same. */
async function rendered(
  request: FastifyRequest,
  reply: FastifyReply,
  denial: Denial,
  render: RenderRejection | undefined,
): Promise<boolean> {
  if (render === undefined) return false
  try {
    const body = await render(denial, request, reply)
    if (!reply.sent) reply.send(body)
    return true
  } catch (error) {
    request.log.error({ err: error }, 'renderRejection failed')
    return reply.sent
  }
}

function setFields(
  reply: FastifyReply,
  allowance: RequestAllowance,
  denial: Denial | undefined,
  { fields }: AnswerOptions,
) {
  const policies = quotaPolicies(allowance.left(), denial)
  if (fields !== 'none') reply.headers(rateLimitFields(policies, fields))
  const exposed = exposedHeaders(reply.getHeaders() as Parameters<typeof exposedHeaders>[0])
  if (exposed !== undefined) reply.header('access-control-expose-headers', exposed)
  return policies
}
