import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { draw } from '../../bench/plots/draw.ts'
import { readmeWith } from '../../bench/readme.ts'
import { markdownOf, type Report } from '../../bench/report.ts'

const root = join(import.meta.dirname, '../..')
const results = join(root, 'bench/results')
const read = (...path: string[]) => readFileSync(join(...path), 'utf8')
const report: Report = JSON.parse(read(results, 'results.json'))

t.test('the README shows the run whose results are committed, and its plots are drawn from them', async (t) => {
  t.equal(report.smoke, false)
  t.equal(readmeWith(read(root, 'README.md'), report), read(root, 'README.md'), 'npm run bench:plots writes the table')
  t.equal(markdownOf(report), read(results, 'results.md'))
  const plots = draw(report)
  t.same(
    [...plots.keys()].sort(),
    readdirSync(results)
      .filter((file) => file.endsWith('.svg'))
      .sort(),
  )
  for (const [file, svg] of plots) {
    t.equal(read(results, file), svg, file)
    t.ok(read(root, 'README.md').includes(`bench/results/${file}`), `the README shows ${file}`)
  }
})

t.test('a README without a place for results is an error', async (t) => {
  t.throws(() => readmeWith('# Something', report), /no <!--/)
})
