import { connect } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import t from 'tap'
import { allowanceOf } from '../../src/index.ts'
import { LiveService } from '../gen/test/v1/live_pb.ts'
import { gate, headers, liveApp, liveClients, until } from '../support/live-app.ts'
import type { Teardown } from '../support/matrix-app.ts'
import { headOf, openSocket } from '../support/raw-http1.ts'
import { request } from '../support/raw-http2.ts'
import { ofConnectError } from '../support/rejection.ts'
import { envelope } from '../support/wire.ts'

// More than what the system takes of it for a client that does not read.
const big = 'x'.repeat(16_000_000)
const path = `/${LiveService.typeName}/Watch`
const json = { ...headers, 'content-type': 'application/connect+json' }

/** A server whose streams deliver without end, and how many of its connections' calls are open. */
const flooding = async (t: Parameters<typeof liveApp>[0], http2: boolean) => {
  const opened = gate()
  const app = await liveApp(
    t,
    {
      async *watch({ topics }, context) {
        await allowanceOf(context).openStream(topics)
        opened.open()
        for (;;) yield { text: big }
      },
    },
    { http2, allowance: { discardTimeoutMs: 5000 } },
  )
  const calls = new Set<unknown>()
  app.app.server.on(http2 ? 'stream' : 'connection', (call) => {
    calls.add(call)
    call.on('close', () => calls.delete(call))
  })
  const responses: { readonly writableLength: number }[] = []
  app.app.server.on('request', (_request, response) => responses.push(response))
  /** Resolves when a stream is open and waits for its client to read. */
  const blocked = async () => {
    await opened.passed
    await until(() => responses.some(({ writableLength }) => writableLength > 0))
  }
  return { ...app, calls, blocked }
}

/** Opens a stream over HTTP/2 that takes nothing. */
const watchUnread = (t: Teardown, url: string) => {
  const session = connect(url, { settings: { initialWindowSize: 0 } })
  t.teardown(() => session.destroy())
  const stream = request(session, path, json)
  stream.on('error', () => {})
  stream.end(envelope('{"topics":1}'))
}

/** The same over HTTP/1.1, until its socket is resumed. */
const watchPaused = (t: Teardown, port: number) => {
  const socket = connectSocket(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {}).pause()
  const body = envelope('{"topics":1}')
  socket.write(
    Buffer.concat([Buffer.from(headOf(path, Object.entries({ ...json, 'content-length': body.length }))), body]),
  )
  return socket
}

t.test('RATE-032: a stream whose client does not read is given up after its rent is denied', async (t) => {
  t.test('over HTTP/2', async (t) => {
    const { url, app, calls, blocked, advance, spend, clock } = await flooding(t, true)
    watchUnread(t, url)
    await blocked()
    advance(59.5)
    spend('stream_rent', 120)
    advance(0.5)
    await until(() => clock.scheduled === 1)
    t.equal(calls.size, 1)
    advance(5)
    await until(() => calls.size === 0)
    await app.close()
    t.equal(clock.scheduled, 0)
  })

  t.test('over HTTP/1.1', async (t) => {
    const { port, app, calls, blocked, advance, spend, clock } = await flooding(t, false)
    watchPaused(t, port)
    await blocked()
    advance(59.5)
    spend('stream_rent', 120)
    advance(0.5)
    await until(() => clock.scheduled === 1)
    t.equal(calls.size, 1)
    advance(5)
    await until(() => calls.size === 0)
    await app.close()
    t.equal(clock.scheduled, 0)
  })
})

t.test('a stream whose client does not read does not hold up close()', async (t) => {
  for (const http2 of [true, false]) {
    const { url, port, app, blocked, clock } = await flooding(t, http2)
    if (http2) {
      watchUnread(t, url)
    } else {
      watchPaused(t, port)
    }
    await blocked()
    await app.close()
    t.equal(clock.scheduled, 0)
  }
})

t.test('RATE-030: a stream that pays no more after its deadline delivers no more', async (t) => {
  for (const http2 of [false, true]) {
    const { url, app, clock } = await liveApp(
      t,
      {
        async *watch({ topics }, context) {
          await allowanceOf(context).openStream(topics)
          yield { text: 'open' }
          // Whatever its signal says.
          await new Promise(() => {})
        },
      },
      { http2 },
    )
    for (const { name, client } of liveClients(url, http2)) {
      // Longer than the client's own, which is what a hostile one says: only the server keeps to it.
      const call = client.watch(
        { topics: 1 },
        { headers: { ...headers, 'connect-timeout-ms': '50', 'grpc-timeout': '50m' } },
      )
      const error = await (async () => {
        for await (const { text } of call) t.equal(text, 'open')
      })().catch(ofConnectError)
      t.match(error, { code: 'deadline_exceeded' }, name)
    }
    await until(() => clock.scheduled === 0)
    await app.close()
  }
})

t.test('a handler whose iterator does not keep to its type ends at a denial, as others do', async (t) => {
  const { url, advance, spend } = await liveApp(t, {
    watch: ({ topics }, context) => {
      let opened = false
      return {
        [Symbol.asyncIterator]: () => ({
          async next() {
            if (opened) return new Promise(() => {})
            opened = true
            await allowanceOf(context).openStream(topics)
            return { done: false, value: { text: 'open' } }
          },
          return: (() => ({ done: true, value: undefined })) as never,
        }),
      } as AsyncIterable<{ text: string }>
    },
  })
  for (const { name, client } of liveClients(url, false)) {
    advance(600)
    const first = gate()
    const outcome = (async () => {
      for await (const _ of client.watch({ topics: 1 }, { headers })) first.open()
    })().catch(ofConnectError)
    await first.passed
    advance(59.5)
    spend('stream_rent', 120)
    advance(0.5)
    t.match(await outcome, { code: 'resource_exhausted' }, name)
  }
})

t.test('a client that reads slowly is not given up while it reads', async (t) => {
  const { port, app, calls, blocked, advance, spend, clock } = await flooding(t, false)
  const socket = watchPaused(t, port)
  await blocked()
  advance(59.5)
  spend('stream_rent', 120)
  advance(0.5)
  await until(() => clock.scheduled === 1)
  const [call] = [...calls] as { readonly bytesWritten: number }[]
  let taken = 0
  for (let i = 0; i < 2; i++) {
    const reading = (data: Buffer) => {
      taken += data.length
    }
    const before = taken
    socket.on('data', reading).resume()
    await until(() => taken > before + 3_000_000)
    socket.off('data', reading).pause()
    t.equal(clock.scheduled, 1, `${taken} bytes taken, and not all`)
    advance(5)
    t.equal(calls.size, 1, `${call!.bytesWritten} bytes written`)
  }
  let received = ''
  socket.on('data', (data) => {
    received = (received + data.toString('latin1')).slice(-2000)
  })
  socket.resume()
  await until(() => received.includes('resource_exhausted'))
  await app.close()
  t.equal(clock.scheduled, 0)
})

t.test('a stream that was denied behind a slow answer on its connection does not cost that answer', async (t) => {
  const goOn = gate()
  const { app, port, clock, spend } = await liveApp(
    t,
    {
      async ping() {
        await goOn.passed
        return { text: 'slow' }
      },
      async *watch({ topics }, context) {
        await allowanceOf(context).openStream(topics)
        yield { text: 'open' }
      },
    },
    { allowance: { discardTimeoutMs: 5000 } },
  )
  spend('stream_rent', 120)
  const { write, response } = await openSocket(t, port)
  const slow = { ...headers, 'content-type': 'application/json', 'content-length': 2 }
  const body = envelope('{"topics":1}').toString('latin1')
  write(`${headOf(`/${LiveService.typeName}/Ping`, Object.entries(slow))}{}`)
  write(`${headOf(path, Object.entries({ ...json, 'content-length': body.length }))}${body}`)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  clock.advance(60_000_000_000n)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  goOn.open()
  t.match(await response(), { status: 200, body: '{"text":"slow"}' })
  t.match(await response(), { status: 200 })
  await until(() => clock.scheduled === 0)
  await app.close()
})
