import { createContextValues } from '@connectrpc/connect'
import { reopening, type Wait } from '../../src/client/index.ts'
import type { StoredEnvelope } from '../gen/example/v1/backend_pb.ts'
import { ANOTHER_CALLER, inWords } from './call.ts'
import { type Connection, patience, watcherKey } from './connection.ts'
import { byId, element, setText } from './dom.ts'
import { log, prepend } from './log.ts'
import { showRefusal } from './refusals.ts'
import { duration } from './words.ts'

const KEPT = 50

type State = 'closed' | 'opening' | 'open' | 'waiting'

/** The stream, open or not, and how far it has got in each of its topics. */
export class LiveStream {
  /** The number of the last envelope received of each topic. */
  readonly cursors = new Map<string, bigint>()
  readonly #connection: () => Connection
  readonly #onChange: () => void
  readonly #received = byId('received', HTMLOListElement)
  readonly #place = byId('stream-refusals', HTMLElement)
  #state: State = 'closed'
  #wasOpen = false
  #closing = new AbortController()
  #left: AbortSignal | undefined

  /** `onChange` is called whenever the state is another, and when something may have been spent. */
  constructor(connection: () => Connection, onChange: () => void) {
    this.#connection = connection
    this.#onChange = onChange
  }

  get state() {
    return this.#state
  }

  close(): void {
    log('sent', this.#state === 'waiting' ? 'the stream waits no longer' : 'the stream is closed')
    this.#closing.abort()
    this.#become('closed')
  }

  /**
   * Takes up topics or a connection that have changed. One that waits takes them up when its wait is over, not before;
   * another caller does not wait for it.
   */
  reopen(): void {
    const anew = this.#state === 'waiting' && this.#left?.aborted
    if (anew) log('failed', `SubscribeStatic: waits no longer, ${ANOTHER_CALLER}`)
    if (anew || this.#state === 'open' || this.#state === 'opening') this.open()
  }

  /** Opens it from its cursors, in place of the one that is open. */
  async open(): Promise<void> {
    this.#closing.abort()
    const closing = new AbortController()
    this.#closing = closing
    this.#become('opening')
    let clear = () => {}
    let { url } = this.#connection()
    let ending = ''
    const waits = (wait: Wait) => {
      log('refused', `no ${wait.rejection.category} left: the stream opens in ${duration(wait.waitMs)}`)
      clear()
      clear = showRefusal(this.#place, { what: 'SubscribeStatic', wait, cancel: () => this.close() })
      this.#become('waiting')
    }
    const sent = () => {
      clear()
      log('sent', `SubscribeStatic, ${[...this.cursors.keys()].join(', ') || 'no topics'}`)
    }
    const contextValues = createContextValues().set(watcherKey, { sent, waits })
    const stream = reopening(
      (signal) => {
        const topics = [...this.cursors].map(([topic, afterSequenceId]) => ({ topic, afterSequenceId }))
        this.#become('opening')
        const { backend, left, url: now } = this.#connection()
        this.#left = left
        url = now
        return backend.subscribeStatic({ topics }, { signal, contextValues })
      },
      { ...patience, signal: closing.signal, onWait: waits },
    )
    try {
      for await (const { event } of stream) {
        if (closing.signal.aborted) break
        if (event.case === 'started') {
          log('came', 'the stream is open, its rent is paid')
          this.#become('open')
        }
        for (const envelope of event.case === 'messages' ? event.value.envelopes : []) this.#receive(envelope)
      }
      ending = 'the server ended it'
      if (!closing.signal.aborted) log('came', 'the stream has ended')
    } catch (error) {
      ending = inWords(error, url)
      if (!closing.signal.aborted) log('failed', `SubscribeStatic: ${ending}`)
    } finally {
      clear()
      if (!closing.signal.aborted) this.#become('closed', ending)
    }
  }

  #receive({ sequenceId, envelope }: StoredEnvelope): void {
    const topic = envelope?.topic ?? ''
    if (this.cursors.has(topic)) this.cursors.set(topic, sequenceId)
    const { payload } = envelope ?? {}
    const text = payload?.case === 'applicationMessage' ? new TextDecoder().decode(payload.value) : 'an identity update'
    const number = element('span', 'number', String(sequenceId))
    const line = element('li', '', number, element('span', 'topic', topic), element('span', 'what', text))
    prepend(this.#received, line, KEPT)
  }

  /** `why` it is closed, when nobody here has closed it. */
  #become(state: State, why = ''): void {
    this.#state = state
    if (state === 'open' || state === 'closed') this.#wasOpen = state === 'open'
    const shown = byId('stream-state', HTMLElement)
    const waiting = this.#wasOpen ? 'waiting to be let in again' : 'waiting to be let in'
    setText(shown, state === 'waiting' ? waiting : state + (why && `: ${why}`))
    shown.classList.toggle('failed', why !== '')
    this.#onChange()
  }
}
