import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CgroupStatsReader } from './cgroup-stats.ts'

/** Content of files by path; a path in the first line of each block, its content indented. */
function filesOf(text: string): { read(path: string): Promise<Uint8Array> } {
  const files = new Map<string, string>()
  for (const [, path = '', content = ''] of text.matchAll(/^(\/\S+)\n((?: {2}.*\n)*)/gm))
    files.set(path, content.replaceAll(/^ {2}/gm, ''))
  return {
    read: async path => {
      const content = files.get(path)
      if (content === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
      return Buffer.from(content)
    },
  }
}

const version1 = filesOf(`
/proc/self/mountinfo
  30 25 0:26 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
  31 25 0:27 / /cg/memory rw - cgroup cgroup rw,memory
  32 25 0:28 / /cg/pids rw - cgroup cgroup rw,pids
  33 25 0:29 / /cg/blkio rw - cgroup cgroup rw,blkio
/cg/cpu,cpuacct/p/cpuacct.usage
  12500000000
/cg/cpu,cpuacct/p/cpuacct.usage_user
  10000000000
/cg/cpu,cpuacct/p/cpuacct.usage_sys
  2500000000
/cg/cpu,cpuacct/p/cpu.stat
  nr_periods 100
  nr_throttled 7
  throttled_time 1500000000
  nr_bursts 2
  burst_time 250000000
/cg/cpu,cpuacct/p/cpu.shares
  512
/cg/cpu,cpuacct/p/cpu.cfs_period_us
  100000
/cg/cpu,cpuacct/p/cpu.cfs_quota_us
  50000
/cg/cpu,cpuacct/p/cgroup.procs
  41
  42
/cg/memory/p/memory.usage_in_bytes
  5000
/cg/memory/p/memory.max_usage_in_bytes
  9000
/cg/memory/p/memory.failcnt
  3
/cg/memory/p/memory.kmem.usage_in_bytes
  700
/cg/memory/p/memory.oom_control
  oom_kill_disable 0
  under_oom 0
  oom_kill 4
/cg/memory/p/memory.limit_in_bytes
  10000
/cg/memory/p/memory.memsw.limit_in_bytes
  20000
/cg/memory/p/memory.soft_limit_in_bytes
  9223372036854771712
/cg/memory/p/memory.stat
  cache 1
  total_cache 2000
  total_rss 1000
  total_mapped_file 300
  total_swap 40
  total_pgfault 60
  total_pgmajfault 5
  total_inactive_file 1500
  total_active_file 500
/cg/pids/p/pids.current
  6
/cg/pids/p/pids.max
  max
/cg/blkio/p/blkio.throttle.io_service_bytes_recursive
  8:0 Read 4096
  8:0 Write 8192
  8:0 Total 12288
  Total 12288
/cg/blkio/p/blkio.throttle.io_serviced_recursive
  8:0 Read 1
  8:0 Write 2
  Total 3
`)

const version2 = filesOf(`
/sys/fs/cgroup/p/cpu.stat
  usage_usec 12500000
  user_usec 10000000
  system_usec 2500000
  nr_periods 100
  nr_throttled 7
  throttled_usec 1500000
  nr_bursts 2
  burst_usec 250000
/sys/fs/cgroup/p/cpu.weight
  20
/sys/fs/cgroup/p/cpu.max
  50000 100000
/sys/fs/cgroup/p/cpu.pressure
  some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000
  full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
/sys/fs/cgroup/p/cgroup.procs
  41
  42
/sys/fs/cgroup/p/memory.current
  5000
/sys/fs/cgroup/p/memory.peak
  9000
/sys/fs/cgroup/p/memory.events
  low 0
  high 0
  max 3
  oom 5
  oom_kill 4
/sys/fs/cgroup/p/memory.max
  10000
/sys/fs/cgroup/p/memory.min
  0
/sys/fs/cgroup/p/memory.swap.current
  40
/sys/fs/cgroup/p/memory.swap.max
  max
/sys/fs/cgroup/p/memory.stat
  anon 1000
  file 2000
  kernel 700
  file_mapped 300
  inactive_file 1500
  active_file 500
  pgfault 60
  pgmajfault 5
/sys/fs/cgroup/p/pids.current
  6
/sys/fs/cgroup/p/pids.max
  4096
/sys/fs/cgroup/p/io.stat
  8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0
  8:16 
`)

const same = {
  cpu: {
    totalSeconds: 12.5,
    userSeconds: 10,
    systemSeconds: 2.5,
    periods: 100,
    throttledPeriods: 7,
    throttledSeconds: 1.5,
    burstPeriods: 2,
    burstSeconds: 0.25,
  },
  memory: {
    usageBytes: 5_000,
    maxUsageBytes: 9_000,
    workingSetBytes: 3_500,
    rssBytes: 1_000,
    cacheBytes: 2_000,
    mappedFileBytes: 300,
    swapBytes: 40,
    kernelBytes: 700,
    activeFileBytes: 500,
    inactiveFileBytes: 1_500,
    failures: 3,
    pageFaults: 60,
    majorPageFaults: 5,
    oomKills: 4,
  },
  processIds: [41, 42],
  devices: [{ device: '8:0', readBytes: 4_096, writtenBytes: 8_192, reads: 1, writes: 2 }],
}

test('usage and settings of a cgroup are read in version 1', async () => {
  const reader = new CgroupStatsReader({ files: version1, machine: { cgroupVersion: 1 } })
  assert.deepEqual(await reader.read('/p'), {
    ...same,
    cpuSpec: { shares: 512, periodMicroseconds: 100_000, quotaMicroseconds: 50_000 },
    memorySpec: { limitBytes: 10_000, swapLimitBytes: 20_000, reservationBytes: 0 },
    pids: { current: 6, max: 0 },
    pressure: {},
  })
  assert.equal(await reader.read('/gone'), undefined)
})

test('usage and settings of a cgroup are read in version 2, with pressure', async () => {
  const reader = new CgroupStatsReader({ files: version2, machine: { cgroupVersion: 2 } })
  assert.deepEqual(await reader.read('/p'), {
    ...same,
    cpuSpec: { shares: 500, periodMicroseconds: 100_000, quotaMicroseconds: 50_000 },
    memorySpec: { limitBytes: 10_000, swapLimitBytes: 0, reservationBytes: 0 },
    pids: { current: 6, max: 4_096 },
    pressure: { cpu: { waitingSeconds: 3, stalledSeconds: 1 } },
  })
  assert.equal(await reader.read('/gone'), undefined)
})

test('controllers that are missing have no figures, and no limit is 0', async () => {
  const files = filesOf('/sys/fs/cgroup/p/cpu.max\n  max 100000\n/sys/fs/cgroup/p/cpu.weight\n  1\n')
  const reader = new CgroupStatsReader({ files, machine: { cgroupVersion: 2 } })
  assert.deepEqual(await reader.read('/p'), {
    cpuSpec: { shares: 2, periodMicroseconds: 100_000, quotaMicroseconds: 0 },
    processIds: [],
    devices: [],
    pressure: {},
  })
})
