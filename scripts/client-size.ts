/**
 * Prints what `fastify-allowance/client` adds to a bundle for browsers that has Connect-Web in it already, minified and
 * compressed by gzip. Fails above the bound, and when the client needs anything that browsers do not have.
 */
import { clientBundle, MAX_ADDED_BYTES } from './client-bundle.ts'

const { connectWeb, added } = await clientBundle()
console.log(`fastify-allowance/client: ${added} bytes, minified and gzipped, on top of Connect-Web's ${connectWeb}`)
if (added > MAX_ADDED_BYTES) {
  console.error(`it must not add more than ${MAX_ADDED_BYTES} bytes`)
  process.exitCode = 1
}
