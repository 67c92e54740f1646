/**
 * Prints what `fastify-allowance/client` adds to a bundle for browsers that has Connect-Web in it already, minified and
 * compressed by gzip. Fails above the bound, and when the client needs anything that browsers do not have.
 */
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const MAX_BYTES = 3 * 1024

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

const without = await compressedBytes(connectWeb)
const added = (await compressedBytes(`${connectWeb} export * from './src/client/index.ts'`)) - without
console.log(`fastify-allowance/client: ${added} bytes, minified and gzipped, on top of Connect-Web's ${without}`)
if (added > MAX_BYTES) {
  console.error(`it must not add more than ${MAX_BYTES} bytes`)
  process.exitCode = 1
}
