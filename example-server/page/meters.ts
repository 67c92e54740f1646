import type { CategoryAllowance } from '../gen/example/v1/backend_pb.ts'
import { byId, element, setText } from './dom.ts'
import { levelAt, type Reading, unitsAt } from './level.ts'
import { everyFrame } from './ticks.ts'
import { duration, perWindow } from './words.ts'

/** What the page's own buttons spend. The others stand apart, unfolded where there is room for them. */
const SPENT_HERE = ['request', 'publish', 'stream_rent']
const NOT_KNOWN = 'not known'
const WIDE = '(min-width: 56rem)'

interface Meter {
  readonly reading: Reading
  readonly readAt: number
  readonly bar: HTMLElement
  readonly fill: HTMLElement
  readonly units: HTMLElement
  readonly full: HTMLElement
}

let meters: Meter[] = []
let stop = () => {}
let shown = ''

/** Shows what is left, as read just now, and lets it refill from there. */
export function showMeters(categories: readonly CategoryAllowance[]): void {
  const readAt = performance.now()
  const shape = categories.map(({ category, limits }) => [
    category,
    ...limits.map((l) => `${l.count}/${l.windowSeconds}`),
  ])
  const same = shown === JSON.stringify(shape)
  shown = JSON.stringify(shape)
  const readings = categories.flatMap(({ limits }) =>
    limits.map((limit) => ({
      count: Number(limit.count),
      windowMs: Number(limit.windowSeconds) * 1000,
      remaining: Number(limit.remaining),
      fullInMs: Number(limit.fullInMs),
    })),
  )
  if (same) meters = meters.map((meter, i) => ({ ...meter, reading: readings[i]!, readAt }))
  else draw(categories, readings, readAt)
  stop()
  stop = everyFrame(update)
}

/** Says that nothing is known of what is left, until it is read again. */
export function forgetMeters(): void {
  stop()
  for (const { bar, fill, units, full } of meters) {
    fill.style.setProperty('--level', '0')
    bar.classList.remove('empty')
    bar.setAttribute('aria-valuenow', '0')
    bar.setAttribute('aria-valuetext', NOT_KNOWN)
    setText(units, NOT_KNOWN)
    setText(full, '')
  }
}

function draw(categories: readonly CategoryAllowance[], readings: readonly Reading[], readAt: number): void {
  meters = []
  const groups = categories.map(({ category, limits }) => {
    const rows = limits.map(({ windowSeconds }) => {
      const meter = meterOf(category, Number(windowSeconds), readings[meters.length]!, readAt)
      meters.push(meter)
      const label = element('span', 'window', meter.units, ` ${perWindow(Number(windowSeconds))}`)
      return element('div', 'meter', element('div', 'numbers', label, meter.full), meter.bar)
    })
    const title = element('h3', '', category)
    return element('div', 'category', title, ...(rows.length > 0 ? rows : [element('p', 'hint', 'without a limit')]))
  })
  const isSpentHere = (_: unknown, i: number) => SPENT_HERE.includes(categories[i]!.category)
  byId('meters', HTMLElement).replaceChildren(...groups.filter(isSpentHere))
  byId('other-meters', HTMLElement).replaceChildren(...groups.filter((group, i) => !isSpentHere(group, i)))
  byId('others', HTMLDetailsElement).open = matchMedia(WIDE).matches
}

function meterOf(category: string, windowSeconds: number, reading: Reading, readAt: number): Meter {
  const fill = element('div', 'fill')
  const bar = element('div', 'bar', fill)
  bar.setAttribute('role', 'meter')
  bar.setAttribute('aria-label', `${category} ${perWindow(windowSeconds)}`)
  bar.setAttribute('aria-valuemin', '0')
  bar.setAttribute('aria-valuemax', String(reading.count))
  return { reading, readAt, bar, fill, units: element('span', 'units'), full: element('span', 'full') }
}

/** Draws the level of this moment. Returns whether any of them still rises. */
function update(): boolean {
  const now = performance.now()
  let rising = false
  for (const { reading, readAt, bar, fill, units, full } of meters) {
    const elapsedMs = now - readAt
    const whole = unitsAt(reading, elapsedMs)
    const leftMs = Math.max(0, reading.fullInMs - elapsedMs)
    rising ||= leftMs > 0
    fill.style.setProperty('--level', String(levelAt(reading, elapsedMs) / reading.count))
    bar.classList.toggle('empty', whole === 0)
    bar.setAttribute('aria-valuenow', String(whole))
    const words = `${whole.toLocaleString('en')} of ${reading.count.toLocaleString('en')}`
    bar.setAttribute('aria-valuetext', `${words} left`)
    setText(units, words)
    setText(full, leftMs > 0 ? `full in ${duration(leftMs)}` : 'full')
  }
  return rising
}
