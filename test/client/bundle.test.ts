import { join } from 'node:path'
import t from 'tap'
import { run } from '../support/program.ts'
import { root } from '../support/readme.ts'

t.test('the bundle for browsers is small', async (t) => {
  const { stdout } = await run([process.execPath, join(root, 'scripts/client-size.ts')])
  t.match(stdout, /client: \d+ bytes, minified and gzipped, on top of Connect-Web's \d+/)
})
