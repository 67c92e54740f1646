import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { benchmarks } from '../bench/benchmarks.ts'
import { collectionsDuring } from '../bench/functions/garbage.ts'
import { bareEnv } from '../bench/processes/child.ts'
import type { Report, Result } from '../bench/report.ts'
import { smokeSizes } from '../bench/sizes.ts'

// Other tests take their share of the processors.
t.setTimeout(230_000)

const bench = join(import.meta.dirname, '../bench')

const run = (program: string, args: readonly string[]) =>
  promisify(execFile)(process.execPath, [join(bench, program), ...args], { env: bareEnv })

t.test(
  'every benchmark runs, at sizes that say nothing, and its results can be read and drawn',
  { timeout: 230_000 },
  async (t) => {
    const out = t.testdir()
    const { stdout } = await run('main.ts', ['--smoke', '--out', out])

    const report: Report = JSON.parse(readFileSync(join(out, 'results.json'), 'utf8'))
    t.match(report, {
      date: /^\d{4}-\d\d-\d\dT/,
      smoke: true,
      surroundings: { cpu: /./, cores: Number, node: process.version, packages: { 'rate-limiter-flexible': /^\d/ } },
    })
    t.same(
      report.results.map(({ id }) => id),
      benchmarks.map(({ id }) => id),
    )
    for (const { id, series, targets } of report.results) {
      t.ok(series.length > 0 && targets.length > 0, `${id} has series and targets`)
      for (const { name, rounds } of series) {
        t.ok(rounds.length > 0 && rounds.every(Number.isFinite), `${id}, ${name}: a figure for each round`)
      }
      for (const { what, value, interval } of targets) {
        t.ok(Number.isFinite(value), `${id}, ${what}: a value`)
        if (interval !== undefined)
          t.ok(interval[0] <= value && value <= interval[1], `${id}, ${what}: in its interval`)
        t.ok(stdout.includes(what), `${id}, ${what}: is printed`)
      }
    }
    const result = (id: string): Result => report.results.find((one) => one.id === id)!
    t.equal(result('P1').series[0]!.rounds.length, smokeSizes.rounds)
    t.same(
      [...new Set(result('P5').series.map(({ x }) => x))],
      smokeSizes.curve,
      'a point of the curve for each number of callers',
    )
    const spoken = result('P3').series.map(({ name }) => name)
    for (const one of ['Connect stream, HTTP/1.1, admitted', 'gRPC-Web, HTTP/1.1, denied', 'gRPC, h2c, denied']) {
      t.ok(spoken.includes(one), one)
    }

    const page = readFileSync(join(out, 'results.md'), 'utf8')
    for (const { id, title } of benchmarks) t.ok(page.includes(`## ${id}: ${title}`), `${id} has a section`)
    t.match(page, 'A smoke run')

    await run('plots.ts', ['--in', out])
    const plots = readdirSync(out).filter((name) => name.endsWith('.svg'))
    t.equal(plots.length, 6)
    for (const name of plots) {
      const svg = readFileSync(join(out, name), 'utf8')
      t.ok(svg.startsWith('<svg ') && svg.endsWith('</svg>\n'), name)
      t.notMatch(svg, /NaN|undefined|Infinity/, name)
      t.match(svg, 'prefers-color-scheme: dark', name)
    }
  },
)

t.test("an admitted spend makes no garbage, by the collector's own trace, which shows that of others", async (t) => {
  const theirs = await collectionsDuring('rate-limiter-flexible', 1000, 1_000_000)
  for (const subject of [
    'fastify-allowance',
    'fastify-allowance, costs in turn',
    'fastify-allowance, three bounds',
  ] as const) {
    const ours = await collectionsDuring(subject, 1000, 1_000_000)
    // None, as a rule: of what else may bring one on, such as compiled code, there are few.
    t.ok(10 * ours < theirs, `${subject}: ${ours} collections, and ${theirs}`)
  }
})

t.test('some benchmarks only, and none that there is not', async (t) => {
  const out = t.testdir()
  await run('main.ts', ['--smoke', '--only', 'P7,P6', '--out', out])
  const report: Report = JSON.parse(readFileSync(join(out, 'results.json'), 'utf8'))
  t.same(
    report.results.map(({ id }) => id),
    ['P6', 'P7'],
  )
  const refused = await run('main.ts', ['--only', 'P6,P9', '--out', out]).catch((error) => error)
  t.match(refused, { code: 1, stderr: /^--only P9: must be of P1, P1b, / })
})
