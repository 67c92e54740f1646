import type { CategoryAllowance } from '../gen/example/v1/backend_pb.ts'
import { inWords } from './call.ts'
import type { Connection } from './connection.ts'
import { byId, setText } from './dom.ts'
import { forgetMeters, showMeters } from './meters.ts'

const EVERY_MS = 2000

const TYPES: Record<string, string> = {
  ip: 'without a credential, by your address',
  api_key: 'by an API key',
  jwt: 'by a token',
}

/** Reads who the caller is and what is left, again and again while the page is seen. Returns what reads it at once. */
export function startReading(connection: () => Connection): () => void {
  const caller = byId('caller', HTMLElement)
  const callerType = byId('caller-type', HTMLElement)
  const trouble = byId('trouble', HTMLElement)
  const wide = byId('wide', HTMLElement)
  let timer = 0
  let reading = new AbortController()

  const read = async () => {
    // Only the newest answer counts: an older one may be another caller's.
    reading.abort()
    clearTimeout(timer)
    const mine = new AbortController()
    reading = mine
    const asked = connection()
    try {
      const answer = await asked.free.getAllowance({}, { signal: mine.signal, timeoutMs: 10_000 })
      if (mine.signal.aborted) return
      setText(caller, answer.caller)
      setText(callerType, TYPES[answer.authType] ?? answer.authType)
      showMeters(answer.categories)
      wide.hidden = !isWide(answer.categories)
      trouble.hidden = true
    } catch (error) {
      if (mine.signal.aborted) return
      setText(caller, 'Not known')
      setText(callerType, '')
      forgetMeters()
      setText(trouble, sentence(inWords(error, asked.url)))
      trouble.hidden = false
    }
    if (!document.hidden) timer = setTimeout(read, EVERY_MS)
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) read()
  })
  read()
  return read
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** Whether publishing by hand comes to no end. */
function isWide(categories: readonly CategoryAllowance[]): boolean {
  const limits = categories.find(({ category }) => category === 'publish')?.limits ?? []
  return limits.every(({ count }) => count >= 200n)
}
