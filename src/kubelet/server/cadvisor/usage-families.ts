import type { CgroupStats } from '../../cgroup-stats.ts'
import { counter, gauge, of, spec, type CgroupFamily } from './cgroup-family.ts'

type Part<Name extends keyof CgroupStats> = NonNullable<CgroupStats[Name]>

const cpu = (value: (usage: Part<'cpu'>) => number): CgroupFamily['read'] =>
  of(({ stats }) => stats.cpu, value)
const memory = (value: (usage: Part<'memory'>) => number): CgroupFamily['read'] =>
  of(({ stats }) => stats.memory, value)
const cpuSpec = (value: (settings: Part<'cpuSpec'>) => number): CgroupFamily['read'] =>
  of(({ stats }) => stats.cpuSpec, value)
const memorySpec = (value: (settings: Part<'memorySpec'>) => number): CgroupFamily['read'] =>
  of(({ stats }) => stats.memorySpec, value)
const pids = (value: (usage: Part<'pids'>) => number): CgroupFamily['read'] =>
  of(({ stats }) => stats.pids, value)

/** Only cgroups with a CPU limit are throttled. */
const limited = (value: (usage: Part<'cpu'>) => number): CgroupFamily['read'] =>
  of(({ stats }) => ((stats.cpuSpec?.quotaMicroseconds ?? 0) > 0 ? stats.cpu : undefined), value)

export const specFamilies: readonly CgroupFamily[] = [
  spec('container_start_time_seconds', 'Unix time of the start.', ({ startedMs }) =>
    startedMs > 0 ? [[Math.floor(startedMs / 1_000)]] : [],
  ),
  spec(
    'container_spec_cpu_period',
    'Period of the CPU limit in microseconds.',
    cpuSpec(s => s.periodMicroseconds),
  ),
  spec('container_spec_cpu_quota', 'CPU time per period in microseconds.', ({ stats }) => {
    const { quotaMicroseconds = 0 } = stats.cpuSpec ?? {}
    return quotaMicroseconds > 0 ? [[quotaMicroseconds]] : []
  }),
  spec(
    'container_spec_cpu_shares',
    'CPU shares.',
    cpuSpec(s => s.shares),
  ),
  spec(
    'container_spec_memory_limit_bytes',
    'Memory limit; 0 for none.',
    memorySpec(s => s.limitBytes),
  ),
  spec(
    'container_spec_memory_swap_limit_bytes',
    'Swap limit; 0 for none.',
    memorySpec(s => s.swapLimitBytes),
  ),
  spec(
    'container_spec_memory_reservation_limit_bytes',
    'Protected memory; 0 for none.',
    memorySpec(s => s.reservationBytes),
  ),
  gauge('container_last_seen', 'Unix time of the measurement.', ({ timeMs }) => [
    [Math.floor(timeMs / 1_000)],
  ]),
]

export const cpuFamilies: readonly CgroupFamily[] = [
  counter('container_cpu_usage_seconds_total', 'CPU time.', ({ stats }) =>
    stats.cpu ? [[stats.cpu.totalSeconds, { cpu: 'total' }]] : [],
  ),
  counter(
    'container_cpu_user_seconds_total',
    'CPU time in user mode.',
    cpu(u => u.userSeconds),
  ),
  counter(
    'container_cpu_system_seconds_total',
    'CPU time in kernel mode.',
    cpu(u => u.systemSeconds),
  ),
  counter(
    'container_cpu_cfs_periods_total',
    'Periods of the CPU limit.',
    limited(u => u.periods),
  ),
  counter(
    'container_cpu_cfs_throttled_periods_total',
    'Periods in which the CPU limit was reached.',
    limited(u => u.throttledPeriods),
  ),
  counter(
    'container_cpu_cfs_throttled_seconds_total',
    'Time stopped by the CPU limit.',
    limited(u => u.throttledSeconds),
  ),
  counter(
    'container_cpu_cfs_burst_periods_total',
    'Periods with bursts.',
    limited(u => u.burstPeriods),
  ),
  counter(
    'container_cpu_cfs_burst_seconds_total',
    'CPU time of bursts.',
    limited(u => u.burstSeconds),
  ),
  gauge('container_processes', 'Processes.', ({ stats }) => [[stats.processIds.length]]),
  gauge(
    'container_threads',
    'Threads.',
    pids(u => u.current),
  ),
  gauge(
    'container_threads_max',
    'Limit of threads; 0 for none.',
    pids(u => u.max),
  ),
]

export const memoryFamilies: readonly CgroupFamily[] = [
  gauge(
    'container_memory_usage_bytes',
    'Memory with all caches.',
    memory(u => u.usageBytes),
  ),
  gauge(
    'container_memory_max_usage_bytes',
    'Largest memory usage.',
    memory(u => u.maxUsageBytes),
  ),
  gauge(
    'container_memory_working_set_bytes',
    'Memory without the file cache that can be reclaimed at once.',
    memory(u => u.workingSetBytes),
  ),
  gauge(
    'container_memory_rss',
    'Anonymous memory.',
    memory(u => u.rssBytes),
  ),
  gauge(
    'container_memory_cache',
    'Page cache.',
    memory(u => u.cacheBytes),
  ),
  gauge(
    'container_memory_mapped_file',
    'Mapped files.',
    memory(u => u.mappedFileBytes),
  ),
  gauge(
    'container_memory_swap',
    'Swapped memory.',
    memory(u => u.swapBytes),
  ),
  gauge(
    'container_memory_kernel_usage',
    'Kernel memory.',
    memory(u => u.kernelBytes),
  ),
  gauge(
    'container_memory_total_active_file_bytes',
    'Active file cache.',
    memory(u => u.activeFileBytes),
  ),
  gauge(
    'container_memory_total_inactive_file_bytes',
    'Inactive file cache.',
    memory(u => u.inactiveFileBytes),
  ),
  counter(
    'container_memory_failcnt',
    'Times that the memory limit was hit.',
    memory(u => u.failures),
  ),
  counter('container_memory_failures_total', 'Page faults.', ({ stats }) => {
    const { pageFaults, majorPageFaults } = stats.memory ?? {}
    if (pageFaults === undefined || majorPageFaults === undefined) return []
    return ['container', 'hierarchy'].flatMap(scope => [
      [pageFaults, { failure_type: 'pgfault', scope }] as const,
      [majorPageFaults, { failure_type: 'pgmajfault', scope }] as const,
    ])
  }),
  counter(
    'container_oom_events_total',
    'Processes killed for lack of memory.',
    memory(u => u.oomKills),
  ),
]
