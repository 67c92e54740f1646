import fastify, { type FastifyInstance } from 'fastify'

/** What `upstream = "demo"` stands for: a server that says what reached it. It shows no headers and no addresses. */
export async function startDemoUpstream(): Promise<{ url: URL; close(): Promise<void> }> {
  const app: FastifyInstance = fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, body, done) => {
    let bytes = 0
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    body.once('end', () => done(null, bytes))
    body.once('error', done)
  })
  app.all('*', async ({ method, url, body = 0 }) => ({ method, path: url.split('?', 1)[0], bytes: body }))
  return { url: new URL(await app.listen({ host: '127.0.0.1', port: 0 })), close: () => app.close() }
}
