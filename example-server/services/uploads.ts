import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { allowanceOf } from '../../src/index.ts'
import { type BackendService, CreateUploadResponseSchema } from '../gen/example/v1/backend_pb.ts'
import type { Store } from '../store.ts'

const UPLOAD_LIFETIME_MS = 3_600_000

/** CreateUpload: a credential for a place in an object store. (The example has no object store to redeem it at.) */
export function uploads(store: Store): Pick<ServiceImpl<typeof BackendService>, 'createUpload'> {
  const storageKey = randomBytes(32)
  return {
    async createUpload({ sizeBytes }, context) {
      await allowanceOf(context).spend('upload', 1)
      const uploadId = randomUUID()
      const nowMs = Date.now()
      const expiresAtMs = nowMs + UPLOAD_LIFETIME_MS
      const credential = createHmac('sha256', storageKey).update(`${uploadId}\n${sizeBytes}\n${expiresAtMs}`).digest()
      store.addUpload(uploadId, Number(sizeBytes), expiresAtMs, nowMs)
      return create(CreateUploadResponseSchema, { uploadId, credential, expiresAtMs: BigInt(expiresAtMs) })
    },
  }
}
