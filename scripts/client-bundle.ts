import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')

const connectWeb = `
  export { createClient } from '@connectrpc/connect'
  export { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
`

async function compressedBytes(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length
}

/** What `fastify-allowance/client` may add. */
export const MAX_ADDED_BYTES = 3 * 1024

/**
 * Bytes of a bundle for browsers, minified and compressed by gzip: of Connect-Web, and what `fastify-allowance/client` adds.
 * @throws when the client needs anything that browsers do not have.
 */
export async function clientBundle(): Promise<{ connectWeb: number; added: number }> {
  const without = await compressedBytes(connectWeb)
  return {
    connectWeb: without,
    added: (await compressedBytes(`${connectWeb} export * from './src/client/index.ts'`)) - without,
  }
}
