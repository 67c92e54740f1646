import type { Series } from '../result.ts'
import { medianOf } from '../statistics.ts'
import { COLOURS, card, element, text } from './svg.ts'

const WIDTH = 760
const HEIGHT = 400
const LEFT = 70
const RIGHT = 190
const TOP = 50
const BOTTOM = 50

/** One line for all series of a name, over a number that grows tenfold from mark to mark; medians. */
export function curves(title: string, xName: string, unit: string, series: readonly Series[]): string {
  const lines = [...Map.groupBy(series, ({ name }) => name)].map(([name, points]) => ({
    name,
    points: points.map(({ x = 0, rounds }) => ({ x, y: medianOf(rounds) })).sort((a, b) => a.x - b.x),
  }))
  const all = lines.flatMap(({ points }) => points)
  const from = Math.floor(Math.log10(Math.min(...all.map(({ x }) => x))))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...all.map(({ x }) => x)))))
  const step = stepFor(Math.max(...all.map(({ y }) => y)))
  const steps = Math.ceil(Math.max(...all.map(({ y }) => y)) / step)
  const xOf = (x: number) => LEFT + ((Math.log10(x) - from) / (to - from)) * (WIDTH - LEFT - RIGHT)
  const yOf = (y: number) => HEIGHT - BOTTOM - (y / (steps * step)) * (HEIGHT - TOP - BOTTOM)

  const rows = Array.from({ length: steps + 1 }, (_, i) => i * step).flatMap((y) => [
    element('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: yOf(y), y2: yOf(y) }),
    text(LEFT - 8, yOf(y) + 4, y.toLocaleString('en'), 'right quiet'),
  ])
  const marks = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i)).map((x) =>
    text(xOf(x), HEIGHT - BOTTOM + 20, x.toLocaleString('en'), 'middle quiet'),
  )
  const drawn = lines.flatMap(({ points }, i) => {
    const colour = `s${i % COLOURS}`
    const path = points.map(({ x, y }) => `${xOf(x).toFixed(1)},${yOf(y).toFixed(1)}`).join(' ')
    return [
      element('polyline', { class: `line ${colour}`, points: path }),
      ...points.map(({ x, y }) => element('circle', { class: colour, cx: xOf(x), cy: yOf(y), r: 3.5 })),
    ]
  })
  const names = [...lines.entries()]
    .map(([i, { name, points }]) => ({ i, name, y: yOf(points.at(-1)!.y) }))
    .sort((a, b) => a.y - b.y)
  // Apart, where lines end close to each other.
  for (let i = 1; i < names.length; i++) names[i]!.y = Math.max(names[i]!.y, names[i - 1]!.y + 16)
  const labels = names.map(({ i, name, y }) => text(WIDTH - RIGHT + 10, y + 4, name, `s${i % COLOURS}`))
  return card(WIDTH, HEIGHT, title, [
    ...rows,
    ...marks,
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, `${xName}; ${unit}, medians`, 'middle quiet'),
    ...drawn,
    ...labels,
  ])
}

/** 1, 2 or 5 times a power of ten, of which there are at most ten up to `max`. */
function stepFor(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max / 5))
  return [1, 2, 5, 10].map((times) => times * power).find((step) => max / step <= 8)!
}
