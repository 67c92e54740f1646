import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { bounds } from './bounds.ts'
import { Refused } from './refused.ts'

/** One line of a stream of JSON. */
export function line(type: string, payload: unknown): string {
  return jsonLine(type, JSON.stringify(payload))
}

/** As `line`, of a payload that is JSON already. */
export function jsonLine(type: string, payload: string): string {
  return `{"type":"${type}","payload":${payload}}\n`
}

/** The streams that are open on this server. */
export class OpenStreams {
  readonly #open = new Set<AbortController>()

  get size(): number {
    return this.#open.size
  }

  /**
   * Answers with lines, as fast as the client takes them and no faster. What `lines` throws becomes the last line.
   * @param lines Makes text of whole lines. Its signal is aborted when the client leaves or the server closes.
   */
  send(reply: FastifyReply, lines: (signal: AbortSignal) => AsyncIterable<string>): FastifyReply {
    const ended = new AbortController()
    const { raw } = reply
    this.#open.add(ended)
    raw.once('close', () => {
      this.#open.delete(ended)
      ended.abort()
    })
    if (raw.closed || raw.destroyed) {
      this.#open.delete(ended)
      ended.abort()
    }
    const text = withErrors(lines(ended.signal), reply)
    return reply.type('application/x-ndjson').send(Readable.from(text))
  }

  /** Ends all of them. */
  close(): void {
    for (const ended of this.#open) ended.abort()
  }
}

async function* withErrors(lines: AsyncIterable<string>, reply: FastifyReply): AsyncGenerator<string> {
  try {
    yield* lines
  } catch (error) {
    if (!(error instanceof Refused)) reply.log.error({ err: error }, 'a stream failed')
    yield line('error', { error: error instanceof Refused ? error.message : 'internal error' })
  }
}

/**
 * The lines of an upload, with the number of each from 1; empty ones are left out.
 * @throws {Refused} when a line or all of it is too long, it is no UTF-8, or it is cut off.
 */
export async function* uploadedLines(upload: Readable): AsyncGenerator<{ text: string; number: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let number = 0
  let bytes = 0
  for await (const chunk of chunksOf(upload)) {
    bytes += chunk.length
    if (bytes > bounds.uploadBytes) throw new Refused(413, `the upload must be at most ${bounds.uploadBytes} bytes`)
    const lines = (rest + decode(decoder, chunk)).split('\n')
    rest = lines.pop()!
    for (const text of lines) {
      number++
      checkLength(text, number)
      if (text.trim() !== '') yield { text, number }
    }
    checkLength(rest, number + 1)
  }
  rest += decode(decoder)
  if (rest.trim() !== '') yield { text: rest, number: number + 1 }
}

/** Leaves the rest of the upload to be read by Node: an answer could not be sent when it were destroyed. */
async function* chunksOf(upload: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of upload.iterator({ destroyOnReturn: false })) yield chunk as Buffer
  } catch {
    throw new Refused(400, 'the upload was cut off')
  } finally {
    upload.resume()
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch {
    throw new Refused(400, 'the upload must be UTF-8')
  }
}

function checkLength(text: string, number: number): void {
  if (text.length > bounds.lineBytes) {
    throw new Refused(400, `line ${number}: must be at most ${bounds.lineBytes} bytes`)
  }
}
