import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const { NODE_OPTIONS: _loaders, ...env } = process.env

t.test('the measurement of open streams runs', async (t) => {
  const program = join(import.meta.dirname, '../bench/streams.ts')
  const printed = execFileSync(process.execPath, ['--expose-gc', program, '--streams', '1000'], {
    env,
    encoding: 'utf8',
  })
  t.match(printed, /^1000 open streams, Node v/)
  t.match(printed, /bytes for an idle stream: +\d+/)
})
