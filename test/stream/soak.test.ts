import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LiveService } from '../gen/test/v1/live_pb.ts'
import { within } from '../support/program.ts'
import { headOf } from '../support/raw-http1.ts'
import type { Held } from '../support/soak-server.ts'
import { envelope } from '../support/wire.ts'

/** What Node calls a client's socket among the resources of the server. */
const SOCKET = 'TCPSocketWrap'

const start = async (t: { teardown(run: () => unknown): unknown }, httpVersion: '1.1' | '2') => {
  const { NODE_OPTIONS: _loaders, ...env } = process.env
  const child = fork(join(import.meta.dirname, '../support/soak-server.ts'), [httpVersion], {
    env,
    execArgv: ['--expose-gc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const message = async (what: string) => (await within(once(child, 'message'), () => `${what} of the server`))[0]
  const port = (await message('the port')) as number
  const held = async () => {
    child.send('measure')
    return (await message('what is held')) as Held
  }
  /** What is held when no stream is any more, and the server has heard that no client is. */
  const heldAfterAll = async () => {
    let last = await held()
    for (let i = 0; i < 100 && (last.scheduled > 0 || last.resources.includes(SOCKET)); i++) last = await held()
    return last
  }
  return { port, heldAfterAll }
}

const chance = (one: number) => Math.random() < 1 / one
const later = (run: () => void) => (chance(2) ? setImmediate(run) : setTimeout(run, Math.random() * 20))
const json = (message: object) => envelope(JSON.stringify(message))
const pathOf = (rpc: string) => `/${LiveService.typeName}/${rpc}`
const headersOf = (caller: number) => ({ 'x-caller': `caller ${caller}`, 'content-type': 'application/connect+json' })

/** Runs `one` `count` times, `atATime` of them at a time. */
const run = async (count: number, atATime: number, one: () => Promise<void>) => {
  let begun = 0
  const worker = async () => {
    while (begun++ < count) await one()
  }
  await Promise.all(Array.from({ length: atATime }, worker))
}

/** One stream over HTTP/2, dropped at some moment in some way. */
const dropOne = (session: ClientHttp2Session) =>
  new Promise<void>((resolve) => {
    const rpc = chance(2) ? 'Watch' : 'Subscribe'
    const stream: ClientHttp2Stream = session.request({
      ':method': 'POST',
      ':path': pathOf(rpc),
      ...headersOf(Math.floor(Math.random() * 50)),
    })
    stream
      .on('error', () => {})
      .on('close', resolve)
      .resume()
    const drop = () => {
      if (chance(200)) session.destroy()
      else if (chance(3) && rpc === 'Subscribe') stream.end()
      else stream.close(chance(2) ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_INTERNAL_ERROR)
    }
    if (chance(10)) return drop()
    stream.write(json({ topics: Math.floor(Math.random() * 3000) }))
    if (rpc === 'Watch') stream.end()
    if (chance(5)) later(drop)
    else stream.once('data', () => (chance(2) ? drop() : later(drop)))
  })

const holdsNoMore = (t: Test, before: Held, after: Held) => {
  t.equal(after.scheduled, 0, 'no timer')
  t.same(after.resources, before.resources, 'no handle')
  t.same(after.unhandled, [], 'nothing unhandled')
}

t.test('soak: of 10,000 streams over HTTP/2 that were dropped at random moments nothing is left', async (t) => {
  const { port, heldAfterAll } = await start(t, '2')
  const sessions = new Map<number, ClientHttp2Session>()
  const sessionOf = (i: number) => {
    const known = sessions.get(i)
    if (known !== undefined && !known.destroyed && !known.closed) return known
    const session = connect(`http://127.0.0.1:${port}`).on('error', () => {})
    sessions.set(i, session)
    return session
  }
  t.teardown(() => {
    for (const session of sessions.values()) session.destroy()
  })
  const soak = async (count: number) => {
    await run(count, 200, () => dropOne(sessionOf(Math.floor(Math.random() * 10))))
    for (const session of sessions.values()) session.destroy()
    return heldAfterAll()
  }
  const before = await soak(2000)
  const after = await soak(14_000)
  holdsNoMore(t, before, after)
  t.ok(after.opened > 10_000, `${after.opened} streams were open`)
  t.ok(after.heap - before.heap < 2_000_000, `memory back: ${after.heap - before.heap} bytes for 14,000 streams more`)
})

t.test('soak: nor of 1,000 over HTTP/1.1 whose sockets were dropped', async (t) => {
  const { port, heldAfterAll } = await start(t, '1.1')
  const dropSocket = () =>
    new Promise<void>((resolve) => {
      const socket = connectSocket(port, '127.0.0.1')
      socket.on('error', () => {}).on('close', () => resolve())
      const body = json({ topics: 1 })
      const head = { ...headersOf(Math.floor(Math.random() * 50)), 'content-length': String(body.length) }
      socket.write(headOf(pathOf('Watch'), Object.entries(head)))
      const drop = () => (chance(2) ? socket.destroy() : socket.resetAndDestroy())
      const isWhole = !chance(5)
      if (isWhole) socket.write(body)
      if (isWhole && chance(3)) socket.once('data', drop)
      else later(drop)
    })
  const soak = async (count: number) => {
    await run(count, 50, dropSocket)
    return heldAfterAll()
  }
  const before = await soak(300)
  const after = await soak(700)
  holdsNoMore(t, before, after)
  t.ok(after.opened > 100, `${after.opened} streams were open`)
  t.ok(after.heap - before.heap < 1_000_000, `memory back: ${after.heap - before.heap} bytes for 700 streams more`)
})
