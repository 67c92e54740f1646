import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'

/** Where figures come from. */
export interface Surroundings {
  readonly cpu: string
  readonly cores: number
  readonly memoryGib: number
  readonly system: string
  /** How many processes wanted to run before the benchmarks did, on average over a minute. */
  readonly loadBefore: number
  readonly node: string
  readonly v8: string
  readonly packages: Readonly<Record<string, string>>
  /** As h2load says it; none: it is not there. */
  readonly h2load: string
}

const root = join(import.meta.dirname, '..')
const compared = [
  '@fastify/rate-limit',
  'rate-limiter-flexible',
  'fastify',
  '@connectrpc/connect',
  '@connectrpc/connect-fastify',
  '@bufbuild/protobuf',
  'mitata',
]

export function surroundings(): Surroundings {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    loadBefore: Math.round(loadavg()[0]! * 100) / 100,
    node: process.version,
    v8: process.versions.v8,
    h2load: spawnSync('h2load', ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? 'none',
    packages: {
      'fastify-allowance': versionOf(join(root, 'package.json')),
      ...Object.fromEntries(
        compared.map((name) => [name, versionOf(join(root, 'node_modules', name, 'package.json'))]),
      ),
    },
  }
}

function versionOf(manifest: string): string {
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}
