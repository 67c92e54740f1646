import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

t.test('the bundle for browsers is small', async (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/client-size.ts')], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  t.match(stdout, /client: \d+ bytes, minified and gzipped, on top of Connect-Web's \d+/)
})
