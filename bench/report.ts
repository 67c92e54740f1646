import type { Surroundings } from './machine.ts'
import { type Findings, isMet, type Series, type Target } from './result.ts'
import { spreadOf } from './statistics.ts'

/** What one benchmark has found, and how long it took. */
export interface Result extends Findings {
  readonly id: string
  readonly title: string
  readonly seconds: number
}

/** All of one run: what `results.json` holds. */
export interface Report {
  /** When it began, in ISO 8601. */
  readonly date: string
  readonly seconds: number
  /** Whether the sizes are those of the test, so that the figures say nothing. */
  readonly smoke: boolean
  readonly surroundings: Surroundings
  readonly results: readonly Result[]
}

/** The report as a page of Markdown. */
export function markdownOf(report: Report): string {
  const [run, ...findings] = targetsOf(report)
  return blocks([
    '# Benchmarks',
    run!,
    ...(report.smoke ? ['**A smoke run: the sizes are so small that the figures say nothing.**'] : []),
    'Each figure is the median of its rounds, with the quartiles in brackets; of ratios, the interval that the median lies in with 95 % confidence. Figures of different runs do not compare.',
    '## Targets',
    ...findings,
    ...report.results.flatMap(sectionOf),
  ])
}

/** Where and when it ran, and its targets, as blocks of Markdown. */
export function targetsOf({ date, seconds, surroundings, results }: Report): string[] {
  const { cpu, cores, memoryGib, system, loadBefore, node, v8, packages, h2load } = surroundings
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`)
  return [
    `${date}, in ${Math.round(seconds)} s. ${cpu}, ${cores} cores, ${memoryGib} GiB, ${system}, load ${loadBefore} before. Node ${node} (V8 ${v8}); ${versions.join(', ')}; ${h2load}.`,
    tableOf(
      ['', 'What', 'Measured', 'Target', ''],
      results.flatMap(({ id, targets }) =>
        targets.map((target) => [id, target.what, measuredOf(target), boundOf(target), verdictOf(target)]),
      ),
    ),
  ]
}

/** Blocks of Markdown as one text. */
export function blocks(list: readonly string[]): string {
  return list.map((block) => `${block}\n`).join('\n')
}

function sectionOf({ id, title, series, notes, seconds }: Result): string[] {
  return [
    `## ${id}: ${title}`,
    tableOf(['What', 'Median', 'Quartiles', 'Unit', 'Rounds'], series.map(rowOf)),
    [...notes, `Took ${Math.round(seconds)} s.`].join(' '),
  ]
}

function rowOf({ name, x, unit, rounds }: Series): string[] {
  const { low, median, high } = spreadOf(rounds)
  const label = x === undefined ? name : `${name}, ${x.toLocaleString('en')} callers`
  return [
    label,
    number(median),
    rounds.length === 1 ? '' : `${number(low)} … ${number(high)}`,
    unit,
    `${rounds.length}`,
  ]
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function measuredOf({ value, interval, unit }: Target): string {
  const written = unit === '×' ? ratio : number
  const between = interval && ` (${interval.map(written).join(' … ')})`
  return `${written(value)}${unit === '×' ? ' ×' : unit}${between ?? ''}`
}

/** Three digits behind the point, where it is about hundredths. */
function ratio(value: number): string {
  return value < 2 ? value.toFixed(3) : number(value)
}

function boundOf({ atLeast, atMost, unit }: Target): string {
  const suffix = unit === '×' ? ' ×' : unit
  if (atLeast !== undefined) return `≥ ${number(atLeast)}${suffix}`
  return atMost === undefined ? '' : `≤ ${number(atMost)}${suffix}`
}

function verdictOf(target: Target): string {
  const met = isMet(target)
  if (met === undefined) return ''
  return met ? 'met' : '**not met**'
}

/** Three digits, or all before the point. */
function number(value: number): string {
  const digits = Math.abs(value) < 1 ? 3 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

/** The targets of one benchmark as plain text, a line each. */
export function verdictsOf({ id, targets }: Result): string {
  return targets
    .map((target) => {
      const parts = [id, target.what, measuredOf(target), boundOf(target), verdictOf(target).replaceAll('*', '')]
      return parts.filter((part) => part !== '').join('  ')
    })
    .join('\n')
}
