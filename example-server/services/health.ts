import { create } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { BackendService } from '../gen/example/v1/backend_pb.ts'
import {
  type Health,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from '../gen/health/v1/health_pb.ts'

const names = ['', BackendService.typeName]

/** grpc.health.v1 for the whole server (`""`) and its one service. Watch is not implemented, which clients understand. */
export function health(): Partial<ServiceImpl<typeof Health>> {
  const serving = create(HealthCheckResponseSchema, { status: HealthCheckResponse_ServingStatus.SERVING })
  return {
    check({ service }) {
      if (!names.includes(service)) throw new ConnectError('unknown service', Code.NotFound)
      return serving
    },
    list() {
      return create(HealthListResponseSchema, { statuses: Object.fromEntries(names.map((name) => [name, serving])) })
    },
  }
}
