import { join } from 'node:path'
import t from 'tap'
import { run } from './support/program.ts'

t.test('the measurement of open streams runs', async (t) => {
  const program = join(import.meta.dirname, '../bench/streams.ts')
  const { stdout } = await run([process.execPath, '--expose-gc', program, '--streams', '1000'], { plain: true })
  t.match(stdout, /^1000 open streams, Node v/)
  t.match(stdout, /bytes for an idle stream: +\d+/)
})
