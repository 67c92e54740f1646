import { type CallOptions, Code, ConnectError, createContextValues } from '@connectrpc/connect'
import { type Connection, watcherKey } from './connection.ts'
import { byId, setText } from './dom.ts'
import { log } from './log.ts'
import { announce, showRefusal } from './refusals.ts'
import { count, duration } from './words.ts'

/** Why what waited is given up. */
export const ANOTHER_CALLER = 'calls go out as another caller now'

/** A call that the page makes for the person in front of it. */
export interface Call {
  /** `Publish, 1 envelope`. */
  what: string
  /** Where its refusals are shown. */
  place: HTMLElement
  /** Waits no longer when this is left: what waits would go out as somebody else. */
  connection: Connection
  /** Ends it, also while it waits. */
  cancel: AbortController
  /** Makes it with these options; returns what to say of the answer. */
  send: (options: Required<Pick<CallOptions, 'signal' | 'contextValues'>>) => Promise<string>
}

/** Makes a call, shows its waits, and logs what happens. Returns whether it went through. */
export async function makeCall({ what, place, connection: { url, left }, cancel, send }: Call): Promise<boolean> {
  let tries = 0
  let clear = () => {}
  let waiting = false
  const leave = () => {
    if (waiting) cancel.abort()
  }
  const contextValues = createContextValues().set(watcherKey, {
    sent() {
      tries += 1
      waiting = false
      log('sent', tries === 1 ? what : `${what}, again`)
    },
    waits(wait) {
      log('refused', `no ${wait.rejection.category} left: again in ${duration(wait.waitMs)}`)
      clear()
      clear = showRefusal(place, { what, wait, cancel: () => cancel.abort() })
      waiting = true
      if (left.aborted) leave()
    },
  })
  left.addEventListener('abort', leave)
  try {
    const said = await send({ signal: cancel.signal, contextValues })
    const answer = tries > 1 ? `${said}, after ${count(tries - 1, 'wait')}` : said
    log('came', answer)
    showOutcome(`${what}: ${answer}`)
    if (tries > 1) announce(`${what} went through.`)
    return true
  } catch (error) {
    const failure = `${what}: ${cancel.signal.aborted ? canceled(left) : inWords(error, url)}`
    log('failed', failure)
    showOutcome(failure)
    announce(failure)
    return false
  } finally {
    left.removeEventListener('abort', leave)
    clear()
  }
}

function canceled(left: AbortSignal): string {
  return left.aborted ? `canceled, ${ANOTHER_CALLER}` : 'canceled'
}

function showOutcome(text: string): void {
  setText(byId('outcome', HTMLElement), text)
}

/** What a person is told of an error of a call to `url`. */
export function inWords(error: unknown, url: string): string {
  const { code, rawMessage, cause } = ConnectError.from(error)
  // What fetch throws, for whatever reason, and in each browser's own words.
  if (cause instanceof TypeError) return `no answer from ${url}`
  return `${Code[code]}: ${rawMessage}`
}
