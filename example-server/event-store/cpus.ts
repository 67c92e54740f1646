import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join, relative } from 'node:path/posix'

/** The most CPUs that are believed: what each of them is allowed, times this, is still a limit that the plugin takes. */
const MAX_CPUS = 100_000

/** Where the number of CPUs is read; each may be left out, for the real one. */
export interface CpuSources {
  env?: NodeJS.ProcessEnv
  /** CPUs of the host. */
  host?: number
  /** The text of a file; undefined: it cannot be read. */
  read?: (file: string) => string | undefined
}

export interface Cpus {
  count: number
  /** Who says so. */
  from: 'GOMAXPROCS' | 'container limit' | 'host'
}

/**
 * How many CPUs the server runs on: `GOMAXPROCS`, when it is a whole number from 1 to 100,000; otherwise the CPU limit
 * of the container, where there is one, rounded up and at least 2, however many CPUs the host has; otherwise those that
 * the process may use.
 */
export function readCpus({ env = process.env, host = cpus().length, read = readText }: CpuSources = {}): Cpus {
  const set = env.GOMAXPROCS ?? ''
  if (/^\d{1,6}$/.test(set) && Number(set) >= 1 && Number(set) <= MAX_CPUS) {
    return { count: Number(set), from: 'GOMAXPROCS' }
  }
  const limit = containerLimit(read)
  if (limit !== undefined) {
    return { count: Math.min(MAX_CPUS, Math.max(2, Math.ceil(limit))), from: 'container limit' }
  }
  return { count: Math.min(MAX_CPUS, Math.max(1, usableCpus(read('/proc/self/status') ?? '') ?? host)), from: 'host' }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** `Cpus_allowed_list: 0-3,8`. */
function usableCpus(status: string): number | undefined {
  const list = /^Cpus_allowed_list:\s*([\d,-]+)$/m.exec(status)?.[1]
  if (list === undefined) return undefined
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return sum + last - first + 1
  }, 0)
}

/** The least limit of the process's control group and those above it, in CPUs. */
function containerLimit(read: (file: string) => string | undefined): number | undefined {
  const mounts = read('/proc/self/mountinfo')?.split('\n') ?? []
  const limits = (read('/proc/self/cgroup')?.split('\n') ?? []).flatMap((line) => {
    const [, id, controllers, group] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? []
    if (group === undefined) return []
    if (id === '0' && controllers === '') return limitsIn(mounts, /^cgroup2 /, group, (at) => limitV2(read, at))
    if (!controllers!.split(',').includes('cpu')) return []
    return limitsIn(mounts, /^cgroup .*[ ,]cpu(,|$)/, group, (at) => limitV1(read, at))
  })
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/** Looks in the folder of `group`, where a file system whose description matches shows it, and in those above it. */
function limitsIn(mounts: string[], kind: RegExp, group: string, limitAt: (folder: string) => number | undefined) {
  const limits: number[] = []
  for (const mount of mounts) {
    const [left = '', right = ''] = mount.split(' - ')
    const [, , , root, folder] = left.split(' ')
    if (root === undefined || folder === undefined || !kind.test(right)) continue
    const inside = relative(root, group)
    // A container often sees no more than its own group, as the root.
    for (let at = inside.startsWith('..') ? '' : inside; ; at = at.includes('/') ? dirname(at) : '') {
      const limit = limitAt(join(folder, at))
      if (limit !== undefined) limits.push(limit)
      if (at === '') break
    }
  }
  return limits
}

function limitV2(read: (file: string) => string | undefined, folder: string): number | undefined {
  const [quota, period] = (read(join(folder, 'cpu.max')) ?? '').trim().split(' ')
  return ratio(quota, period)
}

function limitV1(read: (file: string) => string | undefined, folder: string): number | undefined {
  return ratio(read(join(folder, 'cpu.cfs_quota_us')), read(join(folder, 'cpu.cfs_period_us')))
}

/** `max` and -1 stand for no limit. */
function ratio(quota: string | undefined, period: string | undefined): number | undefined {
  const cpus = Number(quota?.trim() || Number.NaN) / Number(period?.trim() || Number.NaN)
  return cpus > 0 && Number.isFinite(cpus) ? cpus : undefined
}
