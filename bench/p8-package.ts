import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { clientBundle, MAX_ADDED_BYTES } from '../scripts/client-bundle.ts'
import { bareEnv } from './processes/child.ts'
import { interleave } from './processes/interleave.ts'
import type { Benchmark } from './result.ts'
import type { Sizes } from './sizes.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '..')
const program = join(import.meta.dirname, 'package/start-child.ts')
const plugins = ['fastify-allowance', '@fastify/rate-limit']

interface Start {
  readonly importMs: number
  readonly registerMs: number
}

/** P8: what the package weighs. */
export const p8: Benchmark<Sizes> = {
  id: 'P8',
  title: 'import and register time, size of the package and of the client in a bundle',
  async run({ sizes: { starts }, progress }) {
    const measures = plugins.map((plugin) => async (): Promise<Start> => {
      const { stdout } = await run(process.execPath, [program, plugin], { env: bareEnv })
      return JSON.parse(stdout)
    })
    const times = await interleave(starts, measures, progress)
    progress('packing and bundling')
    // What `npm run bench` has built; building here would take it away from whoever uses it at the moment.
    const pack = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, env: bareEnv })
    const [packed] = JSON.parse(pack.stdout) as [{ size: number; unpackedSize: number; entryCount: number }]
    const { connectWeb, added } = await clientBundle()
    return {
      series: [
        ...plugins.flatMap((plugin, i) => [
          { name: `${plugin}: import`, unit: 'ms', rounds: times[i]!.map(({ importMs }) => importMs) },
          { name: `${plugin}: register`, unit: 'ms', rounds: times[i]!.map(({ registerMs }) => registerMs) },
        ]),
        { name: 'fastify-allowance: packed', unit: 'bytes', rounds: [packed.size] },
        { name: 'fastify-allowance: unpacked', unit: 'bytes', rounds: [packed.unpackedSize] },
        { name: 'Connect-Web in a bundle, minified and gzipped', unit: 'bytes', rounds: [connectWeb] },
        { name: 'fastify-allowance/client in the same bundle, added', unit: 'bytes', rounds: [added] },
      ],
      targets: [{ what: 'the client, above Connect-Web', value: added, unit: ' bytes', atMost: MAX_ADDED_BYTES }],
      notes: [
        'Import and register: processor time of the thread, in new processes that have imported Fastify and Connect.',
      ],
    }
  },
}
