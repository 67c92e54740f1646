import { create } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
import { bounds } from '../bounds.ts'
import { BackendService, GetConfigurationResponseSchema } from '../gen/example/v1/backend_pb.ts'
import { Health } from '../gen/health/v1/health_pb.ts'
import type { Store } from '../store.ts'
import { blameTheRequest } from '../undecodable.ts'
import { health } from './health.ts'
import { publish } from './publish.ts'
import { push } from './push.ts'
import { query } from './query.ts'
import { uploads } from './uploads.ts'
import { wallets } from './wallets.ts'

/** Every service of the example, on one store. `domain` is the one of its rate-limit rejections. */
export function createRoutes(store: Store, domain: string): (router: ConnectRouter) => void {
  const configuration = create(GetConfigurationResponseSchema, {
    maxEnvelopes: bounds.envelopes,
    maxTopics: bounds.topics,
    maxUploadBytes: BigInt(bounds.uploadBytes),
    rateLimitDomain: domain,
  })
  const backend = {
    ...publish(store),
    ...query(store),
    ...wallets(),
    ...push(store),
    ...uploads(store),
    getConfiguration: () => configuration,
  }
  return (router) => {
    router.service(BackendService, backend)
    router.service(Health, health())
    for (const [i, handler] of router.handlers.entries()) router.handlers[i] = blameTheRequest(handler)
  }
}
