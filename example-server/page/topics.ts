import { defaultRentOf } from '../../src/stream/rent.ts'
import type { Connection } from './connection.ts'
import { button, byId, element, setText } from './dom.ts'
import { LiveStream } from './live.ts'
import { topicIn } from './topic-field.ts'
import { count } from './words.ts'

const LABELS = {
  closed: 'Open the stream',
  opening: 'Close the stream',
  open: 'Close the stream',
  waiting: 'Stop waiting',
}

/** The panel of the live stream: its topics, its rent and its button. Returns what takes up a new connection. */
export function startLive(connection: () => Connection, onSpent: () => void): () => void {
  const toggle = byId('stream-toggle', HTMLButtonElement)
  const list = byId('topics', HTMLUListElement)
  const added = byId('new-topic', HTMLInputElement)
  const stream = new LiveStream(connection, () => {
    setText(toggle, LABELS[stream.state])
    onSpent()
  })

  const show = () => {
    const chips = [...stream.cursors.keys()].map((topic) => {
      const remove = button('×', 'quiet', () => {
        stream.cursors.delete(topic)
        changed()
        added.focus()
      })
      remove.setAttribute('aria-label', `Remove ${topic}`)
      return element('li', 'chip', element('span', 'name', topic), remove)
    })
    list.replaceChildren(...chips)
    const { size } = stream.cursors
    const rent = element('strong', '', String(defaultRentOf(size)))
    byId('rent', HTMLElement).replaceChildren(
      `${count(size, 'topic')}: a rent of `,
      rent,
      ' at each opening, and again for each minute.',
    )
  }
  const changed = () => {
    show()
    stream.reopen()
  }

  byId('add-topic', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    const topic = topicIn(added)
    if (topic === undefined) return
    added.value = ''
    if (stream.cursors.has(topic)) return
    stream.cursors.set(topic, 0n)
    changed()
  })
  added.addEventListener('input', () => added.setCustomValidity(''))
  toggle.addEventListener('click', () => {
    if (stream.state === 'closed') stream.open()
    else stream.close()
  })

  stream.cursors.set('greetings', 0n)
  show()
  return () => stream.reopen()
}
