// Imports a package and registers it, in a process that has done neither before, and prints how long each took. What every
// app with Connect on Fastify has imported anyway is there already.
import '@bufbuild/protobuf'
import '@connectrpc/connect-fastify'
import Fastify, { type FastifyPluginAsync } from 'fastify'
import { threadNs } from '../processes/cpu.ts'

const [name] = process.argv.slice(2)
const ours = new URL('../../dist/index.js', import.meta.url).href

const app = Fastify()
await app.register(async () => {})
const began = threadNs()
const plugin: FastifyPluginAsync<{ domain?: string }> = (await import(name === 'fastify-allowance' ? ours : name!))
  .default
const imported = threadNs()
await app.register(plugin, name === 'fastify-allowance' ? { domain: 'example.com' } : {})
const registered = threadNs()
await app.close()
console.log(JSON.stringify({ importMs: (imported - began) / 1e6, registerMs: (registered - imported) / 1e6 }))
