import type { Wait } from '../../src/client/index.ts'
import { button, byId, element, setText } from './dom.ts'
import { everyFrame } from './ticks.ts'
import { duration } from './words.ts'

export interface Refused {
  /** What was refused: `Publish, 1 envelope`. */
  what: string
  wait: Wait
  cancel: () => void
}

/** Shows a refusal in `place` until the wait is over and the answer is there. Returns what takes it away. */
export function showRefusal(place: HTMLElement, { what, wait, cancel }: Refused): () => void {
  const { rejection, waitMs, tries } = wait
  const startedAt = performance.now()
  const left = element('strong', 'countdown')
  left.setAttribute('role', 'timer')
  const fill = element('div', 'fill')
  const bar = element('div', 'bar', fill)
  bar.setAttribute('role', 'progressbar')
  bar.setAttribute('aria-label', 'Wait')
  bar.setAttribute('aria-valuemin', '0')
  bar.setAttribute('aria-valuemax', '100')

  const [said, then] = tries === 0 ? ['Held back', 'will be sent in'] : ['Refused', 'will be sent again in']
  const card = element(
    'div',
    'refusal',
    element('p', '', element('strong', '', said), ': no ', element('code', '', rejection.category), ' left'),
    element('p', 'again', what, ` ${then} `, left),
    bar,
    button('Cancel', 'quiet', cancel),
  )
  card.setAttribute('role', 'group')
  card.setAttribute('aria-label', `${what}: ${said.toLowerCase()}`)
  const stop = everyFrame(() => {
    const leftMs = waitMs - (performance.now() - startedAt)
    setText(left, leftMs > 0 ? duration(leftMs) : 'a moment')
    const done = waitMs > 0 ? Math.min(1, 1 - leftMs / waitMs) : 1
    fill.style.setProperty('--level', String(done))
    bar.setAttribute('aria-valuenow', String(Math.round(done * 100)))
    return leftMs > 0
  })
  place.append(card)
  announce(`${said}: no ${rejection.category} left. ${what} ${then} ${duration(waitMs)}.`)
  return () => {
    stop()
    const focused = card.contains(document.activeElement)
    card.remove()
    if (focused) place.closest('section')?.querySelector<HTMLElement>('button.primary')?.focus()
  }
}

/** Says it to those who listen rather than look. */
export function announce(text: string): void {
  setText(byId('announcement', HTMLElement), text)
}
