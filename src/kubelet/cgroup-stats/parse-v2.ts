import {
  figure,
  figures,
  limit,
  processIds,
  type CgroupStats,
  type CpuSpec,
  type DeviceUsage,
  type MemoryUsage,
  type Pressure,
  type ReadText,
} from './stats.ts'

export const filesV2: readonly string[] = [
  'cpu.stat',
  'cpu.max',
  'cpu.weight',
  'cpu.pressure',
  'memory.stat',
  'memory.current',
  'memory.peak',
  'memory.events',
  'memory.max',
  'memory.min',
  'memory.swap.current',
  'memory.swap.max',
  'memory.pressure',
  'pids.current',
  'pids.max',
  'io.stat',
  'io.pressure',
  'cgroup.procs',
]

export function parseV2(read: ReadText): CgroupStats {
  const cpu = figures(read('cpu.stat'))
  const pids = read('pids.current')
  const [cpuPressure, memoryPressure, ioPressure] = ['cpu', 'memory', 'io'].map(resource =>
    pressureOf(read(`${resource}.pressure`)),
  )
  return {
    ...(read('cpu.stat') !== '' && {
      cpu: {
        totalSeconds: cpu('usage_usec') / 1e6,
        userSeconds: cpu('user_usec') / 1e6,
        systemSeconds: cpu('system_usec') / 1e6,
        periods: cpu('nr_periods'),
        throttledPeriods: cpu('nr_throttled'),
        throttledSeconds: cpu('throttled_usec') / 1e6,
        burstPeriods: cpu('nr_bursts'),
        burstSeconds: cpu('burst_usec') / 1e6,
      },
    }),
    ...(read('cpu.weight') !== '' && { cpuSpec: cpuSpecOf(read) }),
    ...(read('memory.current') !== '' && { memory: memoryOf(read) }),
    ...(read('memory.max') !== '' && {
      memorySpec: {
        limitBytes: limit(read('memory.max')),
        swapLimitBytes: limit(read('memory.swap.max')),
        reservationBytes: limit(read('memory.min')),
      },
    }),
    ...(pids !== '' && { pids: { current: figure(pids), max: limit(read('pids.max')) } }),
    processIds: processIds(read('cgroup.procs')),
    devices: devicesOf(read('io.stat')),
    pressure: {
      ...(cpuPressure && { cpu: cpuPressure }),
      ...(memoryPressure && { memory: memoryPressure }),
      ...(ioPressure && { io: ioPressure }),
    },
  }
}

/** The weight is converted back to the shares of v1, of which dashboards know what they mean. */
function cpuSpecOf(read: ReadText): CpuSpec {
  const [quota = '', period = ''] = read('cpu.max').trim().split(' ')
  const shares = 2 + Math.floor(((figure(read('cpu.weight')) - 1) * 262_142) / 9_999)
  return { shares, periodMicroseconds: figure(period), quotaMicroseconds: figure(quota) }
}

function memoryOf(read: ReadText): MemoryUsage {
  const stat = figures(read('memory.stat'))
  const events = figures(read('memory.events'))
  const usageBytes = figure(read('memory.current'))
  return {
    usageBytes,
    maxUsageBytes: figure(read('memory.peak')),
    workingSetBytes: Math.max(0, usageBytes - stat('inactive_file')),
    rssBytes: stat('anon'),
    cacheBytes: stat('file'),
    mappedFileBytes: stat('file_mapped'),
    swapBytes: figure(read('memory.swap.current')),
    kernelBytes: stat('kernel'),
    activeFileBytes: stat('active_file'),
    inactiveFileBytes: stat('inactive_file'),
    failures: events('max'),
    pageFaults: stat('pgfault'),
    majorPageFaults: stat('pgmajfault'),
    oomKills: events('oom_kill'),
  }
}

/** Lines such as `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. */
function devicesOf(text: string): readonly DeviceUsage[] {
  return [...text.matchAll(/^(\d+:\d+) (.*=.*)$/gm)].map(([, device = '', pairs = '']) => {
    const found = figures(pairs.replaceAll(' ', '\n').replaceAll('=', ' '))
    return {
      device,
      readBytes: found('rbytes'),
      writtenBytes: found('wbytes'),
      reads: found('rios'),
      writes: found('wios'),
    }
  })
}

/** Lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, in microseconds. */
function pressureOf(text: string): Pressure | undefined {
  const total = (line: string): number => {
    const [, microseconds = '0'] = new RegExp(`^${line} .*total=(\\d+)$`, 'm').exec(text) ?? []
    return Number(microseconds) / 1e6
  }
  return text === '' ? undefined : { waitingSeconds: total('some'), stalledSeconds: total('full') }
}
