import { EventEmitter } from 'node:events'
import type { FastifyReply } from 'fastify'
import t from 'tap'
import { onEnd } from '../../src/request/response-end.ts'

type State = { destroyed?: boolean; writableFinished?: boolean }

const socketOf = (state: State = {}) => Object.assign(new EventEmitter(), { destroyed: false, ...state })

/** A reply of which it is told only what the test tells, as on Node before 24 for a response that stands in line. */
const replyOn = (
  socket: ReturnType<typeof socketOf>,
  { isHttp2 = false, ...state }: State & { isHttp2?: boolean } = {},
) => {
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false, ...state })
  const request = { raw: { socket, ...(isHttp2 && { stream: {} }) } }
  return { raw, reply: { raw, request } as unknown as FastifyReply }
}

t.test('responses of one connection that tell nothing are at their end when it closes, each once', async (t) => {
  const socket = socketOf()
  const ended: number[] = []
  const raws = [0, 1, 2].map((i) => {
    const { raw, reply } = replyOn(socket)
    onEnd(reply, () => ended.push(i))
    return raw
  })
  t.equal(socket.listenerCount('close'), 1, 'one listener, however many stand in line')
  t.same(ended, [])
  raws[1]!.emit('finish')
  t.same(ended, [1])
  socket.emit('close')
  t.same(ended, [1, 0, 2])
  for (const raw of raws) raw.emit('close')
  t.same(ended, [1, 0, 2])
  t.ok(
    raws.every((raw) => raw.listenerCount('close') + raw.listenerCount('finish') === 0),
    'nothing is listened to any more',
  )
})

t.test('what is at its end already tells nothing: it is told at once', async (t) => {
  for (const [name, { reply }] of Object.entries({
    sent: replyOn(socketOf(), { writableFinished: true }),
    'given up': replyOn(socketOf(), { destroyed: true }),
    'on a connection that is gone': replyOn(socketOf({ destroyed: true })),
  })) {
    let ended = 0
    onEnd(reply, () => ended++)
    t.equal(ended, 1, name)
  }
})

t.test('on HTTP/2 a response tells of its own end, and its connection is not asked', async (t) => {
  const socket = socketOf()
  const { raw, reply } = replyOn(socket, { isHttp2: true })
  let ended = 0
  onEnd(reply, () => ended++)
  t.equal(socket.listenerCount('close'), 0)
  raw.emit('close')
  t.equal(ended, 1)
})
