/** Draws the plots of a run beside its results, again and the same each time: `npm run bench:plots`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { draw } from './plots/draw.ts'

const { values } = parseArgs({ options: { in: { type: 'string', default: join(import.meta.dirname, 'results') } } })
for (const [file, svg] of draw(JSON.parse(readFileSync(join(values.in, 'results.json'), 'utf8')))) {
  writeFileSync(join(values.in, file), svg)
  console.log(join(values.in, file))
}
