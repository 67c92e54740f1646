import { byId, element } from './dom.ts'

const KEPT = 200

export type Mark = 'sent' | 'came' | 'refused' | 'failed'

const signs: Record<Mark, [sign: string, words: string]> = {
  sent: ['→', 'sent'],
  came: ['←', 'came back'],
  refused: ['✕', 'refused'],
  failed: ['!', 'failed'],
}

/** The list of what was sent and what came back, newest first. */
export function log(mark: Mark, text: string): void {
  prepend(byId('log', HTMLOListElement), lineOf(mark, text), KEPT)
}

/** Puts a line first, and drops the last ones. */
export function prepend(list: HTMLOListElement, line: HTMLLIElement, kept: number): void {
  list.prepend(line)
  while (list.children.length > kept) list.lastElementChild?.remove()
}

function lineOf(mark: Mark, text: string): HTMLLIElement {
  const [sign, words] = signs[mark]
  const shown = element('span', 'sign', sign)
  shown.setAttribute('role', 'img')
  shown.setAttribute('aria-label', words)
  const time = element('time', '', new Date().toTimeString().slice(0, 8))
  return element('li', mark, time, shown, element('span', 'what', text))
}
