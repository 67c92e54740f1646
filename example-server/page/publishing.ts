import { ANOTHER_CALLER, makeCall } from './call.ts'
import type { Connection } from './connection.ts'
import { byId } from './dom.ts'
import { log } from './log.ts'
import { count } from './words.ts'

/** The buttons that publish, one or a burst. `onSpent` is called after each call. */
export function startPublishing(connection: () => Connection, onSpent: () => void): void {
  const topic = byId('topic', HTMLInputElement)
  const text = byId('text', HTMLInputElement)
  const size = byId('burst-size', HTMLInputElement)
  const whole = byId('burst-whole', HTMLInputElement)
  const progress = byId('burst-progress', HTMLOutputElement)
  const place = byId('refusals', HTMLElement)

  const publish = async (texts: string[], cancel: AbortController): Promise<boolean> => {
    const envelopes = texts.map((line) => ({
      topic: topic.value,
      payload: { case: 'applicationMessage' as const, value: new TextEncoder().encode(line) },
    }))
    const { backend, left } = connection()
    const through = await makeCall({
      what: `Publish, ${count(texts.length, 'envelope')}`,
      place,
      left,
      cancel,
      async send(options) {
        const { sequenceIds } = await backend.publish({ envelopes }, options)
        const [first, last] = [sequenceIds[0], sequenceIds.at(-1)]
        return first === last ? `stored as number ${first}` : `stored as numbers ${first} to ${last}`
      },
    })
    onSpent()
    return through
  }

  byId('publish', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    publish([text.value], new AbortController())
  })

  byId('burst', HTMLFormElement).addEventListener('submit', async (event) => {
    event.preventDefault()
    const texts = Array.from({ length: size.valueAsNumber }, (_, i) => `${text.value} ${i + 1}`)
    const calls = whole.checked ? [texts] : texts.map((line) => [line])
    const cancel = new AbortController()
    const caller = connection().left
    let done = 0
    progress.value = ''
    for (const lines of calls) {
      if (caller.aborted || !(await publish(lines, cancel))) break
      done += lines.length
      progress.value = `${done} of ${texts.length} published`
    }
    if (caller.aborted && done < texts.length) {
      log('failed', `${texts.length - done} of ${texts.length} of the burst are not published: ${ANOTHER_CALLER}`)
    }
  })
}
