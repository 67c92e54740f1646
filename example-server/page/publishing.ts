import { ANOTHER_CALLER, makeCall } from './call.ts'
import type { Connection } from './connection.ts'
import { byId } from './dom.ts'
import { log } from './log.ts'
import { topicIn } from './topic-field.ts'
import { count } from './words.ts'

/** The buttons that publish, one or a burst. `onSpent` is called after each call. */
export function startPublishing(connection: () => Connection, onSpent: () => void): void {
  const topic = byId('topic', HTMLInputElement)
  const text = byId('text', HTMLInputElement)
  const size = byId('burst-size', HTMLInputElement)
  const whole = byId('burst-whole', HTMLInputElement)
  const progress = byId('burst-progress', HTMLOutputElement)
  const place = byId('refusals', HTMLElement)
  // Not `disabled`: that would take the focus away.
  const burst = byId('burst-start', HTMLButtonElement)
  const isRunning = () => burst.ariaDisabled === 'true'

  const publish = async (to: string, texts: string[], cancel: AbortController): Promise<boolean> => {
    const envelopes = texts.map((line) => ({
      topic: to,
      payload: { case: 'applicationMessage' as const, value: new TextEncoder().encode(line) },
    }))
    const made = connection()
    const through = await makeCall({
      what: `Publish, ${count(texts.length, 'envelope')}`,
      place,
      connection: made,
      cancel,
      async send(options) {
        const { sequenceIds } = await made.backend.publish({ envelopes }, options)
        const [first, last] = [sequenceIds[0], sequenceIds.at(-1)]
        return first === last ? `stored as number ${first}` : `stored as numbers ${first} to ${last}`
      },
    })
    onSpent()
    return through
  }

  topic.addEventListener('input', () => topic.setCustomValidity(''))
  byId('publish', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    const to = topicIn(topic)
    if (to !== undefined) publish(to, [text.value], new AbortController())
  })

  byId('burst', HTMLFormElement).addEventListener('submit', async (event) => {
    event.preventDefault()
    const to = topicIn(topic)
    if (to === undefined || isRunning()) return
    const texts = Array.from({ length: size.valueAsNumber }, (_, i) => `${text.value} ${i + 1}`)
    const calls = whole.checked ? [texts] : texts.map((line) => [line])
    const cancel = new AbortController()
    const caller = connection().left
    let done = 0
    progress.value = ''
    burst.setAttribute('aria-disabled', 'true')
    for (const lines of calls) {
      if (caller.aborted || !(await publish(to, lines, cancel))) break
      done += lines.length
      progress.value = `${done} of ${texts.length} published`
    }
    burst.removeAttribute('aria-disabled')
    if (caller.aborted && done < texts.length) {
      log('failed', `${texts.length - done} of ${texts.length} of the burst are not published: ${ANOTHER_CALLER}`)
    }
  })
}
