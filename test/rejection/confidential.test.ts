import t from 'tap'
import { asksDenied, deniedCaller } from '../support/asks-denied.ts'
import { matrixApp, pathOf } from '../support/matrix-app.ts'

t.test('RATE-040: nothing in an answer names the caller, its address or its credentials', async (t) => {
  const secrets = [deniedCaller.name, '127.0.0.1', '203.0.113.77', 'tok-1234567890', 'a subject']
  const types = ['json', 'proto', 'connect+json', 'grpc', 'grpc-web', 'grpc-web-text']
  for (const [version, ask] of await asksDenied(t)) {
    for (const type of types.map((codec) => `application/${codec}`)) {
      const { headers, body } = await ask({ type, body: '' })
      const text = [JSON.stringify(headers), body, Buffer.from(body.toString(), 'base64')].join('\n')
      const shown = secrets.filter((secret) => text.includes(secret))
      t.same(shown, [], `${version}, ${type}`)
    }
  }

  t.test('by address and by token', async (t) => {
    const { app, limiter } = await matrixApp(t, {
      limits: { request: '2/3' },
      allowance: {
        identify: ({ headers }) =>
          headers.authorization === undefined ? null : { type: 'jwt', iss: 'an issuer', sub: 'a subject' },
      },
    })
    limiter.spend({ type: 'ip', address: '203.0.113.77' }, 'request', 2)
    limiter.spend({ type: 'jwt', iss: 'an issuer', sub: 'a subject' }, 'request', 2)
    for (const authorization of [undefined, 'Bearer tok-1234567890']) {
      const answer = await app.inject({
        method: 'POST',
        url: pathOf('Unary'),
        remoteAddress: '203.0.113.77',
        headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
        payload: '{}',
      })
      t.equal(answer.statusCode, 429)
      const text = JSON.stringify(answer.headers) + answer.body
      t.same(
        [...secrets, 'an issuer'].filter((secret) => text.includes(secret)),
        [],
      )
    }
  })
})
