import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { listeningMatrixApp, matrixApp, pathOf } from '../support/matrix-app.ts'

const caller = { type: 'api_key', name: 'writer' } as const
const headers = { 'x-caller': caller.name, 'content-type': 'application/proto' }
const limits = { request: '1/60' }
const large = Buffer.alloc(64 * 1024, 'x')

/** Has a server refuse a large body. */
const refuse = async (t: Test, before: (app: FastifyInstance) => void) => {
  const { url, limiter } = await listeningMatrixApp(t, { limits, before })
  limiter.spend(caller, 'request', 1)
  const { status } = await fetch(url + pathOf('Unary'), { method: 'POST', headers, body: large })
  t.equal(status, 429)
}

const onRequest = (run: (raw: FastifyRequest['raw']) => void) => (app: FastifyInstance) => {
  app.addHook('onRequest', async ({ raw }) => run(raw))
}

t.test('HTTP/1.1: the memory of a refused body is given back at once', async (t) => {
  const transfers = t.capture(ArrayBuffer.prototype, 'transfer', ArrayBuffer.prototype.transfer)
  await refuse(t, () => {})
  const freed = transfers().reduce((bytes, { args: [length] }) => bytes + (length === 0 ? 1 : 0), 0)
  t.ok(freed > 0)
})

const keepers: Record<string, (raw: FastifyRequest['raw'], keep: (chunk: Buffer) => void) => void> = {
  'a push of its own': (raw, keep) => {
    const { push } = raw
    raw.push = (chunk) => {
      if (chunk !== null) keep(chunk)
      return push.call(raw, chunk)
    }
  },
  'an emit of its own': (raw, keep) => {
    const { emit } = raw
    raw.emit = (event: string, ...args: unknown[]) => {
      if (event === 'data') keep(args[0] as Buffer)
      return (emit as (...all: unknown[]) => boolean).call(raw, event, ...args)
    }
  },
  'a loop over it': (raw, keep) => {
    const read = async () => {
      for await (const chunk of raw) keep(chunk)
    }
    read().catch(() => {})
  },
  'a look at what has come': (raw, keep) => {
    raw.once('readable', () => {
      const chunk = raw.read()
      if (chunk === null) return
      keep(chunk)
      raw.unshift(chunk)
    })
  },
}

for (const [who, look] of Object.entries(keepers)) {
  t.test(`HTTP/1.1: not that of which a hook keeps chunks by ${who}`, async (t) => {
    const kept: Buffer[] = []
    await refuse(
      t,
      onRequest((raw) => look(raw, (chunk) => kept.push(chunk))),
    )
    t.ok(kept.every(({ length }) => length > 0))
  })
}

t.test('HTTP/1.1: not that which a hook of the app reads along', async (t) => {
  const chunks: Buffer[] = []
  const readAlong = onRequest((raw) => {
    raw.on('data', (chunk) => chunks.push(chunk))
  })
  await refuse(t, readAlong)
  t.same(Buffer.concat(chunks), large)

  const first: Buffer[] = []
  const readOnce = onRequest((raw) => {
    raw.once('data', (chunk) => first.push(chunk))
  })
  await refuse(t, readOnce)
  t.ok(first[0]!.length > 0, 'nor the first chunk, read once')
})

t.test('HTTP/1.1: not that which is read along by a listener around the one that throws it away', async (t) => {
  const chunks: Buffer[] = []
  const wrap = onRequest((raw) => {
    const on = raw.on.bind(raw) as (event: string, listener: (...args: unknown[]) => void) => typeof raw
    raw.on = (event: string, listener: (...args: never[]) => void) =>
      on(event, (...args) => {
        if (event === 'data') chunks.push(args[0] as Buffer)
        listener(...(args as never[]))
      })
  })
  await refuse(t, wrap)
  t.same(Buffer.concat(chunks), large)
})

t.test('the payload of inject stays its caller’s', async (t) => {
  const { app, limiter } = await matrixApp(t, { limits })
  limiter.spend(caller, 'request', 1)
  const payload = Buffer.from(new Uint8Array(large).buffer)
  const { statusCode } = await app.inject({ method: 'POST', url: pathOf('Unary'), headers, payload })
  t.equal(statusCode, 429)
  t.same(payload, large)
})
