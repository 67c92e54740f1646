import { create } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { allowanceOf } from '../../src/index.ts'
import { bounds } from '../bounds.ts'
import {
  type BackendService,
  RegisterResponseSchema,
  UpdateSubscriptionsResponseSchema,
} from '../gen/example/v1/backend_pb.ts'
import type { Store } from '../store.ts'

/** Push notifications: who is notified, and of which topics. (The example sends none.) */
export function push(store: Store): Pick<ServiceImpl<typeof BackendService>, 'register' | 'updateSubscriptions'> {
  return {
    register({ installationId, deliveryToken }) {
      store.register(installationId, deliveryToken)
      return create(RegisterResponseSchema)
    },

    // Check 1, that the request is well-formed, is behind us (`bounds.ts`) and has cost nothing more.
    async updateSubscriptions({ installationId, adds, removes }, context) {
      // Check 2: pay, before the store is read. Duplicates count.
      await allowanceOf(context).spend('push', adds.length)
      // Check 3
      if (!store.isRegistered(installationId)) {
        throw new ConnectError('installation_id: not registered; call Register first', Code.FailedPrecondition)
      }
      const topics = store.updateSubscriptions(installationId, adds, removes, bounds.topicsPerInstallation)
      if (topics === undefined) {
        const most = bounds.topicsPerInstallation
        throw new ConnectError(`adds: too many topics for one installation; allowed: ${most}`, Code.FailedPrecondition)
      }
      return create(UpdateSubscriptionsResponseSchema, { topics })
    },
  }
}
