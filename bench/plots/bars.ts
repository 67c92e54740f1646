import type { Series } from '../result.ts'
import { spreadOf } from '../statistics.ts'
import { card, element, text } from './svg.ts'

const WIDTH = 760
const LEFT = 300
const RIGHT = 80
const TOP = 44
const BAR = 18
const STEP = 28
/**
 * One bar a series, as long as its median, with a line from quartile to quartile.
 * @param stressed Which of them the plot is about.
 */
export function bars(title: string, unit: string, series: readonly Series[], stressed = isOurs): string {
  const spreads = series.map(({ rounds }) => spreadOf(rounds))
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...spreads.map(({ high }) => high))
  const content = series.flatMap(({ name }, i) => {
    const { low, median, high } = spreads[i]!
    const y = TOP + i * STEP
    const middle = y + BAR / 2
    const colour = stressed(name) ? 's0' : 's3'
    return [
      text(LEFT - 8, middle + 4, name, 'right'),
      element('rect', { class: colour, x: LEFT, y, width: Math.max(1, median * scale), height: BAR }),
      element('line', { class: 'spread', x1: LEFT + low * scale, x2: LEFT + high * scale, y1: middle, y2: middle }),
      text(LEFT + high * scale + 8, middle + 4, median.toLocaleString('en', { maximumSignificantDigits: 3 })),
    ]
  })
  const height = TOP + series.length * STEP + 24
  const isSpread = series.some(({ rounds }) => rounds.length > 1)
  const legend = isSpread ? `${unit}; median, and the quartiles of its rounds` : unit
  return card(WIDTH, height, title, [...content, text(16, height - 12, legend, 'quiet')])
}

function isOurs(name: string): boolean {
  return name.startsWith('fastify-allowance')
}
