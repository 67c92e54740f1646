import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Teardown } from './matrix-app.ts'

const HEADERS = 0x1
const DATA = 0x0
const SETTINGS = 0x4
const END_STREAM = 0x1
const ACK = 0x1
const END_HEADERS = 0x4

/** A frame of HTTP/2 (RFC 9113, section 4.1). */
const frame = (type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Headers as literals that are never indexed (RFC 7541, section 6.2.3). */
const literals = (headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0x10]),
      ...[name, value].map((text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')])),
    ]),
  )

/** A client of HTTP/2 without TLS that answers no ping, as no client of Node's can. Names and values up to 126 characters. */
export const openDeafClient = async (t: Teardown, port: number) => {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  let received = Buffer.alloc(0)
  let next = 1
  const answers = new Map<number, () => void>()
  socket.on('data', (data) => {
    received = Buffer.concat([received, data])
    for (let end = 0; received.length >= 9; received = received.subarray(end)) {
      end = 9 + received.readUIntBE(0, 3)
      if (received.length < end) return
      const [type, flags, stream] = [received[3]!, received[4]!, received.readUInt32BE(5)]
      if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0))
      if ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0) answers.get(stream)?.()
    }
  })
  await once(socket, 'connect')
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0)]))

  return {
    /** Calls an RPC, reads its answer, and only then ends its own side. */
    async call(path: string, headers: Readonly<Record<string, string>>): Promise<void> {
      const stream = next
      next += 2
      const answered = new Promise<void>((resolve) => answers.set(stream, resolve))
      const all = { ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'localhost', ...headers }
      socket.write(frame(HEADERS, END_HEADERS, stream, literals(all)))
      await answered
      answers.delete(stream)
      socket.write(frame(DATA, END_STREAM, stream))
    },
  }
}
