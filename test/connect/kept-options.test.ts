import {
  type ConnectRouterOptions,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { allowanceOf, type ConnectOptions } from '../../src/index.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { matrixApp, matrixService, pathOf } from '../support/matrix-app.ts'

t.test('options for the router, a service and a method are kept', async (t) => {
  /** What connect-fastify makes of a request in the protocol of this content type. */
  const statusOf = async (app: FastifyInstance, type: string) =>
    (await app.inject({ method: 'POST', url: pathOf('Unary'), headers: { 'content-type': type }, payload: '' }))
      .statusCode

  const withOptions = async (t: Test, connect: Partial<ConnectOptions>) => {
    const { app } = await matrixApp(t, { connect })
    return {
      grpc: await statusOf(app, 'application/grpc'),
      grpcWeb: await statusOf(app, 'application/grpc-web'),
      connect: await statusOf(app, 'application/proto'),
    }
  }
  const everything = { grpc: 200, grpcWeb: 200, connect: 200 }
  const without = (protocols: ConnectRouterOptions): ConnectRouterOptions => protocols

  t.same(await withOptions(t, {}), everything)
  t.same(await withOptions(t, { grpc: false }), { ...everything, grpc: 415 }, 'the router without gRPC')
  t.same(await withOptions(t, { grpcWeb: false, connect: false }), { grpc: 200, grpcWeb: 415, connect: 415 })
  const service: ConnectOptions['routes'] = (router) =>
    router.service(MatrixService, matrixService(), without({ grpc: false }))
  t.same(await withOptions(t, { routes: service }), { ...everything, grpc: 415 }, 'a service without gRPC')
  const rpc: ConnectOptions['routes'] = (router) =>
    router.rpc(MatrixService.method.unary, () => ({}), without({ grpcWeb: false }))
  t.same(await withOptions(t, { routes: rpc }), { ...everything, grpcWeb: 415 }, 'a method without gRPC-Web')
  const mixed: ConnectOptions['routes'] = (router) =>
    router.service(MatrixService, matrixService(), { readMaxBytes: 10_000 })
  t.same(await withOptions(t, { routes: mixed, grpc: false }), everything, 'as without the plugin: options replace all')
})

t.test('context values of the app reach its handlers, beside the allowance', async (t) => {
  const key = createContextKey('nobody', { description: 'who asks' })
  const shared = createContextValues().set(key, 'all requests')
  const ways = [
    ['nobody', undefined],
    ['this request', () => createContextValues().set(key, 'this request')],
    ['all requests', () => shared],
  ] as const

  for (const [given, contextValues] of ways) {
    const seen: unknown[] = []
    const unary = async (_: unknown, context: HandlerContext) => {
      seen.push(context.values.get(key), allowanceOf(context).caller)
      seen.push(context.values.set(key, 'changed').get(key))
      seen.push(context.values.delete(key).get(key))
      seen.push(allowanceOf(context).caller)
      return {}
    }
    const { app } = await matrixApp(t, {
      connect: {
        routes: (router) => router.rpc(MatrixService.method.unary, unary),
        ...(contextValues && { contextValues }),
      },
    })
    const response = await app.inject({
      method: 'POST',
      url: pathOf('Unary'),
      headers: { 'content-type': 'application/json', 'x-caller': 'someone' },
      payload: '{}',
    })
    t.equal(response.statusCode, 200)
    const caller = { type: 'api_key', name: 'someone' }
    t.same(seen, [given, caller, 'changed', 'nobody', caller], given)
  }
})

t.test('the options that connect() is given are not written to', async (t) => {
  const routes: ConnectOptions['routes'] = (router) => router.service(MatrixService, matrixService())
  const options = Object.freeze({ routes, interceptors: Object.freeze([]) as never, readMaxBytes: 1000 })
  const { app } = await matrixApp(t, { connect: options })
  const wired = app.allowance.connect(options)
  t.not(wired, options)
  t.equal(wired.readMaxBytes, 1000)
})
