import { type CallOptions, Code, ConnectError, createContextValues } from '@connectrpc/connect'
import { watcherKey } from './connection.ts'
import { byId, setText } from './dom.ts'
import { log } from './log.ts'
import { announce, showRefusal } from './refusals.ts'
import { count, duration } from './words.ts'

/** A call that the page makes for the person in front of it. */
export interface Call {
  /** `Publish, 1 envelope`. */
  what: string
  /** Where its refusals are shown. */
  place: HTMLElement
  /** Ends it, also while it waits. */
  cancel: AbortController
  /** Makes it with these options; returns what to say of the answer. */
  send: (options: Required<Pick<CallOptions, 'signal' | 'contextValues'>>) => Promise<string>
}

/** Makes a call, shows its waits, and logs what happens. Returns whether it went through. */
export async function makeCall({ what, place, cancel, send }: Call): Promise<boolean> {
  let tries = 0
  let clear = () => {}
  const contextValues = createContextValues().set(watcherKey, {
    sent() {
      tries += 1
      log('sent', tries === 1 ? what : `${what}, again`)
    },
    waits(wait) {
      log('refused', `no ${wait.rejection.category} left: again in ${duration(wait.waitMs)}`)
      clear()
      clear = showRefusal(place, { what, wait, cancel: () => cancel.abort() })
    },
  })
  try {
    const said = await send({ signal: cancel.signal, contextValues })
    const answer = tries > 1 ? `${said}, after ${count(tries - 1, 'wait')}` : said
    log('came', answer)
    showOutcome(`${what}: ${answer}`)
    if (tries > 1) announce(`${what} went through.`)
    return true
  } catch (error) {
    const failure = `${what}: ${cancel.signal.aborted ? 'canceled' : inWords(error)}`
    log('failed', failure)
    showOutcome(failure)
    announce(failure)
    return false
  } finally {
    clear()
  }
}

function showOutcome(text: string): void {
  setText(byId('outcome', HTMLElement), text)
}

/** What a person is told of an error. */
export function inWords(error: unknown): string {
  const { code, rawMessage } = ConnectError.from(error)
  return `${Code[code]}: ${rawMessage}`
}
