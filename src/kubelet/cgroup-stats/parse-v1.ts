import {
  figure,
  figures,
  limit,
  processIds,
  type CgroupStats,
  type DeviceUsage,
  type MemoryUsage,
  type ReadText,
} from './stats.ts'

/** Files by controller. */
export const filesV1: Readonly<Record<string, readonly string[]>> = {
  cpuacct: ['cpuacct.usage', 'cpuacct.usage_user', 'cpuacct.usage_sys'],
  cpu: ['cpu.stat', 'cpu.shares', 'cpu.cfs_period_us', 'cpu.cfs_quota_us', 'cgroup.procs'],
  memory: [
    'memory.stat',
    'memory.usage_in_bytes',
    'memory.max_usage_in_bytes',
    'memory.failcnt',
    'memory.kmem.usage_in_bytes',
    'memory.oom_control',
    'memory.limit_in_bytes',
    'memory.memsw.limit_in_bytes',
    'memory.soft_limit_in_bytes',
  ],
  pids: ['pids.current', 'pids.max'],
  blkio: ['blkio.throttle.io_service_bytes_recursive', 'blkio.throttle.io_serviced_recursive'],
}

export function parseV1(read: ReadText): CgroupStats {
  const cpu = figures(read('cpu.stat'))
  const pids = read('pids.current')
  return {
    ...(read('cpuacct.usage') !== '' && {
      cpu: {
        totalSeconds: figure(read('cpuacct.usage')) / 1e9,
        userSeconds: figure(read('cpuacct.usage_user')) / 1e9,
        systemSeconds: figure(read('cpuacct.usage_sys')) / 1e9,
        periods: cpu('nr_periods'),
        throttledPeriods: cpu('nr_throttled'),
        throttledSeconds: cpu('throttled_time') / 1e9,
        burstPeriods: cpu('nr_bursts'),
        burstSeconds: cpu('burst_time') / 1e9,
      },
    }),
    ...(read('cpu.shares') !== '' && {
      cpuSpec: {
        shares: figure(read('cpu.shares')),
        periodMicroseconds: figure(read('cpu.cfs_period_us')),
        quotaMicroseconds: Math.max(0, figure(read('cpu.cfs_quota_us'))),
      },
    }),
    ...(read('memory.usage_in_bytes') !== '' && { memory: memoryOf(read) }),
    ...(read('memory.limit_in_bytes') !== '' && {
      memorySpec: {
        limitBytes: limit(read('memory.limit_in_bytes')),
        swapLimitBytes: limit(read('memory.memsw.limit_in_bytes')),
        reservationBytes: limit(read('memory.soft_limit_in_bytes')),
      },
    }),
    ...(pids !== '' && { pids: { current: figure(pids), max: limit(read('pids.max')) } }),
    processIds: processIds(read('cgroup.procs')),
    devices: devicesOf(read),
    pressure: {},
  }
}

function memoryOf(read: ReadText): MemoryUsage {
  const stat = figures(read('memory.stat'))
  const usageBytes = figure(read('memory.usage_in_bytes'))
  return {
    usageBytes,
    maxUsageBytes: figure(read('memory.max_usage_in_bytes')),
    workingSetBytes: Math.max(0, usageBytes - stat('total_inactive_file')),
    rssBytes: stat('total_rss'),
    cacheBytes: stat('total_cache'),
    mappedFileBytes: stat('total_mapped_file'),
    swapBytes: stat('total_swap'),
    kernelBytes: figure(read('memory.kmem.usage_in_bytes')),
    activeFileBytes: stat('total_active_file'),
    inactiveFileBytes: stat('total_inactive_file'),
    failures: figure(read('memory.failcnt')),
    pageFaults: stat('total_pgfault'),
    majorPageFaults: stat('total_pgmajfault'),
    oomKills: figures(read('memory.oom_control'))('oom_kill'),
  }
}

/** Lines such as `8:0 Read 4096`, in one file for bytes and one for operations. */
function devicesOf(read: ReadText): readonly DeviceUsage[] {
  const bytes = byDevice(read('blkio.throttle.io_service_bytes_recursive'))
  const operations = byDevice(read('blkio.throttle.io_serviced_recursive'))
  return [...bytes].map(([device, figuresOf]) => ({
    device,
    readBytes: figuresOf.get('Read') ?? 0,
    writtenBytes: figuresOf.get('Write') ?? 0,
    reads: operations.get(device)?.get('Read') ?? 0,
    writes: operations.get(device)?.get('Write') ?? 0,
  }))
}

function byDevice(text: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>()
  for (const [, device = '', operation = '', value = ''] of text.matchAll(/^(\d+:\d+) (\w+) (\d+)$/gm)) {
    const own = found.get(device) ?? new Map<string, number>()
    found.set(device, own.set(operation, Number(value)))
  }
  return found
}
