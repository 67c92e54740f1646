import { create } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
import type { Limiter } from '../../src/index.ts'
import { bounds } from '../bounds.ts'
import { BackendService, GetConfigurationResponseSchema } from '../gen/example/v1/backend_pb.ts'
import { Health } from '../gen/health/v1/health_pb.ts'
import type { Hub } from '../live/hub.ts'
import type { Store } from '../store.ts'
import { blameTheRequest } from '../undecodable.ts'
import { allowance } from './allowance.ts'
import { health } from './health.ts'
import { publish } from './publish.ts'
import { push } from './push.ts'
import { query } from './query.ts'
import { subscribe } from './subscribe.ts'
import { uploads } from './uploads.ts'
import { wallets } from './wallets.ts'

/** What the services have in common. */
export interface Backing {
  store: Store
  hub: Hub
  limiter: Limiter
  /** The one of rate-limit rejections. */
  domain: string
}

/** Every service of the example, on one store. */
export function createRoutes({ store, hub, limiter, domain }: Backing): (router: ConnectRouter) => void {
  const configuration = create(GetConfigurationResponseSchema, {
    maxEnvelopes: bounds.envelopes,
    maxTopics: bounds.topics,
    maxUploadBytes: BigInt(bounds.uploadBytes),
    rateLimitDomain: domain,
  })
  const backend = {
    ...publish(store, hub),
    ...query(store),
    ...wallets(),
    ...push(store),
    ...uploads(store),
    ...allowance(limiter),
    ...subscribe(store, hub),
    getConfiguration: () => configuration,
  }
  return (router) => {
    router.service(BackendService, backend)
    router.service(Health, health())
    for (const [i, handler] of router.handlers.entries()) router.handlers[i] = blameTheRequest(handler)
  }
}
