/** Draws the plots of a run beside its results, and writes what it found into the README, again and the same each time: `npm run bench:plots`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { draw } from './plots/draw.ts'
import { readmeWith } from './readme.ts'
import type { Report } from './report.ts'

const { values } = parseArgs({
  options: { in: { type: 'string', default: join(import.meta.dirname, 'results') }, readme: { type: 'string' } },
})
const report: Report = JSON.parse(readFileSync(join(values.in, 'results.json'), 'utf8'))
for (const [file, svg] of draw(report)) {
  writeFileSync(join(values.in, file), svg)
  console.log(join(values.in, file))
}
if (values.readme !== undefined) {
  writeFileSync(values.readme, readmeWith(readFileSync(values.readme, 'utf8'), report))
  console.log(values.readme)
}
