import type { Report, Result } from '../report.ts'
import type { Series } from '../result.ts'
import { bars } from './bars.ts'
import { curves } from './curves.ts'

/** The plots that can be drawn of what was measured, by file name. */
export function draw({ results }: Report): ReadonlyMap<string, string> {
  const plots = new Map<string, string>()
  for (const [id, file, plot] of all) {
    const result = results.find((one) => one.id === id)
    if (result !== undefined) plots.set(file, plot(result))
  }
  return plots
}

const all: readonly (readonly [id: string, file: string, plot: (result: Result) => string])[] = [
  ['P1', 'p1-spend.svg', ({ series }) => bars('A spend of a caller that is resolved', 'ns a spend', series)],
  ['P1b', 'p1b-raw-spend.svg', ({ series }) => bars('A spend, from API key or address', 'ns a spend', series)],
  [
    'P2',
    'p2-admitted-rpc.svg',
    ({ series }) => bars('An admitted unary RPC', 'processor time of the server, µs a request', series),
  ],
  [
    'P3',
    'p3-denied-rpc.svg',
    ({ series }) =>
      bars(
        'An RPC with 64 KiB, admitted and denied',
        'requests a second',
        series.filter(by('requests a second')),
        isDenied,
      ),
  ],
  [
    'P4',
    'p4-memory.svg',
    ({ series }) =>
      bars(
        'Memory of a caller that is remembered',
        'bytes, measured',
        series
          .filter(({ name }) => /JavaScript's memory for a/.test(name))
          .map((one) => ({ ...one, name: one.name.replace(/(, table full)?: JavaScript's memory.*/, '') })),
      ),
  ],
  [
    'P5',
    'p5-many-callers.svg',
    ({ series }) => curves('A spend, as callers grow in number', 'callers', 'ns a spend', series),
  ],
]

function by(unit: string): (series: Series) => boolean {
  return (series) => series.unit === unit
}

function isDenied(name: string): boolean {
  return name.endsWith(', denied')
}
