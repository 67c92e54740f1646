import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { allowanceOf, type Caller, type Limiter } from '../../src/index.ts'
import { CATEGORIES } from '../categories.ts'
import { type BackendService, GetAllowanceResponseSchema } from '../gen/example/v1/backend_pb.ts'
import { countOf, windowSecondsOf } from '../limit-words.ts'

/** GetAllowance: what is left to whoever asks. It charges nothing. */
export function allowance(limiter: Limiter): Pick<ServiceImpl<typeof BackendService>, 'getAllowance'> {
  return {
    async getAllowance(_request, context) {
      const caller = await allowanceOf(context).identify()
      const categories = CATEGORIES.map((category) => ({
        category,
        limits: limiter.remaining(caller, category).map(({ limit, units, fullInMs }) => ({
          count: BigInt(countOf(limit)),
          windowSeconds: BigInt(windowSecondsOf(limit)),
          remaining: BigInt(units),
          fullInMs: BigInt(fullInMs ?? 0),
        })),
      }))
      return create(GetAllowanceResponseSchema, { caller: inWords(caller), authType: caller.type, categories })
    },
  }
}

/** For the eyes of the caller: in no log. */
function inWords(caller: Caller): string {
  switch (caller.type) {
    case 'api_key':
      return `API key ${JSON.stringify(caller.name)}`
    case 'jwt':
      return `user ${JSON.stringify(caller.sub)}${caller.iss ? ` of ${caller.iss}` : ''}`
    case 'ip':
      if (caller.address === 'unix') return 'a peer on a Unix socket'
      return `address ${caller.address}${caller.address.includes(':') ? '/64' : ''}`
  }
}
