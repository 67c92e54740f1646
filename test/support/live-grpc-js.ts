import { join } from 'node:path'
import { type Client, credentials, loadPackageDefinition, Metadata, type ServiceError } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { ofServiceError } from './grpc-js-client.ts'
import { headers } from './live-app.ts'
import type { Teardown } from './matrix-app.ts'
import type { SeenError } from './rejection.ts'

const root = join(import.meta.dirname, '../..')

type Call = {
  on(event: 'data', listener: (reply: { text: string }) => void): Call
  on(event: 'end', listener: () => void): Call
  on(event: 'error', listener: (error: ServiceError) => void): Call
  write(message: { topics: number }): boolean
  end(): void
  cancel(): void
}

/** A bidi call that grpc-js makes, for the caller of the tests. */
export interface LiveCall {
  /** What has been received. */
  readonly received: string[]
  readonly outcome: Promise<SeenError | undefined>
  write(topics: number): void
  /** Resolves when there are that many messages. */
  has(count: number): Promise<void>
  end(): void
  cancel(): void
}

/** Opens calls of `LiveService.Subscribe` with a stranger's client. */
export const grpcJsSubscriber = (t: Teardown, baseUrl: string): (() => LiveCall) => {
  const definition = loadSync('test/v1/live.proto', { includeDirs: [join(root, 'test/proto'), join(root, 'proto')] })
  const { test } = loadPackageDefinition(definition) as unknown as {
    test: {
      v1: { LiveService: new (address: string, creds: unknown) => Client & { Subscribe(metadata: Metadata): Call } }
    }
  }
  const stub = new test.v1.LiveService(new URL(baseUrl).host, credentials.createInsecure())
  t.teardown(() => stub.close())
  return () => {
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    const call = stub.Subscribe(metadata)
    const received: string[] = []
    let look = () => {}
    call.on('data', ({ text }) => {
      received.push(text)
      look()
    })
    const outcome = new Promise<SeenError | undefined>((resolve) => {
      call.on('error', (error) => resolve(ofServiceError(error))).on('end', () => setImmediate(resolve, undefined))
    })
    return {
      received,
      outcome,
      write: (topics) => void call.write({ topics }),
      has: (count) =>
        new Promise((resolve) => {
          look = () => received.length >= count && resolve()
          look()
        }),
      end: () => call.end(),
      cancel: () => call.cancel(),
    }
  }
}
