/** Usage and settings of one cgroup, the same for cgroup v1 and v2. A part is absent if its controller is. */
export interface CgroupStats {
  readonly cpu?: CpuUsage
  readonly cpuSpec?: CpuSpec
  readonly memory?: MemoryUsage
  readonly memorySpec?: MemorySpec
  readonly pids?: { readonly current: number; readonly max: number }
  /** Processes of the cgroup itself, without those of its children. */
  readonly processIds: readonly number[]
  readonly devices: readonly DeviceUsage[]
  /** Seconds stalled since the cgroup was created; v2 only. */
  readonly pressure: Readonly<Partial<Record<PressureResource, Pressure>>>
}

export interface CpuUsage {
  readonly totalSeconds: number
  readonly userSeconds: number
  readonly systemSeconds: number
  readonly periods: number
  readonly throttledPeriods: number
  readonly throttledSeconds: number
  readonly burstPeriods: number
  readonly burstSeconds: number
}

export interface CpuSpec {
  readonly shares: number
  readonly periodMicroseconds: number
  /** 0 without a limit. */
  readonly quotaMicroseconds: number
}

export interface MemoryUsage {
  readonly usageBytes: number
  readonly maxUsageBytes: number
  readonly workingSetBytes: number
  readonly rssBytes: number
  readonly cacheBytes: number
  readonly mappedFileBytes: number
  readonly swapBytes: number
  readonly kernelBytes: number
  readonly activeFileBytes: number
  readonly inactiveFileBytes: number
  /** Times that the limit was hit. */
  readonly failures: number
  readonly pageFaults: number
  readonly majorPageFaults: number
  readonly oomKills: number
}

/** 0 without a limit. */
export interface MemorySpec {
  readonly limitBytes: number
  readonly swapLimitBytes: number
  readonly reservationBytes: number
}

export interface DeviceUsage {
  /** Such as `8:0`. */
  readonly device: string
  readonly readBytes: number
  readonly writtenBytes: number
  readonly reads: number
  readonly writes: number
}

export type PressureResource = 'cpu' | 'memory' | 'io'

export interface Pressure {
  /** At least one task waited. */
  readonly waitingSeconds: number
  /** All tasks waited. */
  readonly stalledSeconds: number
}

/** The content of a file of the cgroup; empty if it does not exist. */
export type ReadText = (file: string) => string

/** Numbers of lines such as `nr_periods 12`. */
export function figures(text: string): (name: string) => number {
  const found = new Map<string, number>()
  for (const [, name = '', value = ''] of text.matchAll(/^(\S+) (\d+)$/gm)) found.set(name, Number(value))
  return name => found.get(name) ?? 0
}

/** A number of one line, or 0. */
export function figure(text: string): number {
  const value = Number(text.trim())
  return Number.isFinite(value) ? value : 0
}

/** A limit; `max` and numbers near the largest are none. */
export function limit(text: string): number {
  const value = figure(text)
  return value < unlimitedBytes ? value : 0
}

/** The kernel rounds the largest number down to whole pages. */
const unlimitedBytes = 2 ** 62

export function processIds(text: string): readonly number[] {
  return text
    .split('\n')
    .map(Number)
    .filter(id => id > 0)
}
