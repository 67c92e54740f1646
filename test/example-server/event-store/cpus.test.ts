import t from 'tap'
import { readCpus } from '../../../example-server/event-store/cpus.ts'

/** A machine of 8 CPUs, with these files. */
const on = (files: Record<string, string>, env: NodeJS.ProcessEnv = {}, host = 8) =>
  readCpus({ env, host, read: (file) => files[file] })

const V2 = {
  '/proc/self/cgroup': '0::/box/inner\n',
  '/proc/self/mountinfo': '31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n',
}
const V1 = {
  '/proc/self/cgroup': '5:memory:/box\n2:cpu,cpuacct:/box\n0::/\n',
  '/proc/self/mountinfo':
    '30 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n' +
    '31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n',
}

t.test('without a limit, the CPUs of the host count', async (t) => {
  t.same(on({}), { count: 8, from: 'host' })
  t.same(on({ ...V2, '/sys/fs/cgroup/box/inner/cpu.max': 'max 100000\n' }), { count: 8, from: 'host' })
  t.same(on({ '/proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t0-2,7\n' }), { count: 4, from: 'host' })
})

t.test('in a container, its limit counts: rounded up, and at least 2', async (t) => {
  const v2 = (max: string) => on({ ...V2, '/sys/fs/cgroup/box/inner/cpu.max': max }).count
  t.same(on({ ...V2, '/sys/fs/cgroup/box/inner/cpu.max': '250000 100000\n' }), { count: 3, from: 'container limit' })
  t.equal(v2('300000 100000\n'), 3)
  t.equal(v2('300001 100000\n'), 4)
  t.equal(v2('50000 100000\n'), 2)
  t.equal(v2('nonsense'), 8)
  t.equal(v2(''), 8)
  t.equal(v2('0 0'), 8)
})

t.test('the limit counts rather than the CPUs of the host, whichever is more', async (t) => {
  const rows: [limit: number, count: number][] = [
    [0.5, 2],
    [0.9, 2],
    [1, 2],
    [1.5, 2],
    [2, 2],
    [2.1, 3],
    [16, 16],
    [200_000, 100_000],
  ]
  for (const host of [1, 2, 8]) {
    for (const [limit, count] of rows) {
      const files = { ...V2, '/sys/fs/cgroup/box/inner/cpu.max': `${limit * 100_000} 100000\n` }
      t.same(on(files, {}, host), { count, from: 'container limit' }, `${limit} on a host of ${host}`)
    }
  }
})

t.test('the least limit of the groups that a process is in counts', async (t) => {
  t.equal(
    on({ ...V2, '/sys/fs/cgroup/box/cpu.max': '400000 100000', '/sys/fs/cgroup/box/inner/cpu.max': '500000 100000' })
      .count,
    4,
  )
  t.equal(on({ ...V2, '/sys/fs/cgroup/cpu.max': '300000 100000' }).count, 3)
})

t.test('control groups of version 1', async (t) => {
  const v1 = (quota: string, folder = 'box/') =>
    on({
      ...V1,
      [`/sys/fs/cgroup/cpu,cpuacct/${folder}cpu.cfs_quota_us`]: quota,
      [`/sys/fs/cgroup/cpu,cpuacct/${folder}cpu.cfs_period_us`]: '100000\n',
    }).count
  t.equal(v1('350000\n'), 4)
  t.equal(v1('-1\n'), 8)
  t.equal(v1('250000\n', ''), 3, 'a container that sees its own group as the root')
})

t.test('a container whose group is the root of what it sees', async (t) => {
  const files = {
    '/proc/self/cgroup': '0::/docker/abc\n',
    '/proc/self/mountinfo': '31 23 0:28 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
    '/sys/fs/cgroup/cpu.max': '450000 100000\n',
  }
  t.equal(on(files).count, 5)
  t.equal(on({ ...files, '/proc/self/cgroup': '0::/../other\n' }).count, 5)
})

t.test('GOMAXPROCS counts instead, when it is valid', async (t) => {
  const limited = { ...V2, '/sys/fs/cgroup/box/inner/cpu.max': '300000 100000' }
  t.same(on(limited, { GOMAXPROCS: '16' }), { count: 16, from: 'GOMAXPROCS' })
  t.equal(on(limited, { GOMAXPROCS: '1' }).count, 1)
  for (const nonsense of ['', '0', '-1', '2.5', 'many', '1e3', '100001', '9999999999', ' 4']) {
    t.equal(on(limited, { GOMAXPROCS: nonsense }).count, 3, JSON.stringify(nonsense))
  }
})

t.test('this machine has CPUs', async (t) => {
  t.ok(readCpus({ env: {} }).count >= 1)
})
