/**
 * The metrics of cAdvisor: machine, cgroups and networks of the node, read from the kernel at the scrape. Concurrent
 * scrapes share one measurement. Nothing is measured between scrapes.
 */
import { assert } from '#/base/assert.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { CgroupStatsReader, type CgroupStats } from '../cgroup-stats.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { KubeletView } from '../kubelet-view.ts'
import type { CgroupFamily } from './cadvisor/cgroup-family.ts'
import { diskFamilies, networkFamilies, pressureFamilies } from './cadvisor/device-families.ts'
import { diskStats, type DiskStats } from './cadvisor/disk-stats.ts'
import { machineFamilies } from './cadvisor/machine-families.ts'
import type { Filesystem, MeasuredCgroup } from './cadvisor/measured-cgroup.ts'
import { networkInterfaces, type InterfaceUsage } from './cadvisor/network-interfaces.ts'
import { planCgroups, type PlannedCgroup } from './cadvisor/plan-cgroups.ts'
import { cpuFamilies, memoryFamilies, specFamilies } from './cadvisor/usage-families.ts'
import { renderFamilies, type MetricFamily, type ReadMetric } from './metric-text.ts'
import { readMachine } from './stats/read-machine.ts'

export interface CadvisorOptions {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log'>
  readonly linux: Pick<Linux, 'machine' | 'mounts' | 'files'>
  readonly node: KubeletConfiguration
  readonly view: Pick<KubeletView, 'pods' | 'sandboxId'>
  /** Image of sandboxes. */
  readonly sandboxImage: string
  /** Version of the kubelet. */
  readonly version: string
}

/** Cgroups read at the same time, of about twenty files each. */
const readsMax = 8

/** Mounted filesystems that are measured. */
const filesystemsMax = 50

export class Cadvisor {
  readonly #options: CadvisorOptions
  readonly #cgroups: CgroupStatsReader
  #running: Promise<string> | undefined

  constructor(options: CadvisorOptions) {
    this.#options = options
    this.#cgroups = new CgroupStatsReader({
      files: options.platform.files,
      machine: options.linux.machine,
    })
  }

  /** In Prometheus' text format. */
  render(): Promise<string> {
    this.#running ??= this.#render().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #render(): Promise<string> {
    const { linux, platform, version } = this.#options
    const machine = machineFamilies({
      machine: linux.machine,
      cpuinfo: await this.#read('/proc/cpuinfo'),
      version,
    })
    let cgroups: readonly MeasuredCgroup[] = []
    let hasFailed = false
    try {
      cgroups = await this.#measure()
    } catch (error) {
      hasFailed = true
      platform.log.warn('Failed to read container metrics', { error })
    }
    return renderFamilies([...containerFamilies(cgroups), scrapeError(hasFailed), ...machine])
  }

  async #measure(): Promise<readonly MeasuredCgroup[]> {
    const { node, view, sandboxImage } = this.#options
    const disks = diskStats(await this.#read('/proc/diskstats'))
    const [, booted = '0'] = /^btime (\d+)$/m.exec(await this.#read('/proc/stat')) ?? []
    const planned = planCgroups({
      node,
      pods: view.pods(),
      sandboxId: uid => view.sandboxId(uid),
      sandboxImage,
      bootedMs: Number(booted) * 1_000,
    })
    const measured: (MeasuredCgroup | undefined)[] = []
    const waiting = [...planned.entries()]
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, cgroup] = next
        measured[index] = await this.#measureOne(cgroup, disks)
      }
    }
    await Promise.all(Array.from({ length: readsMax }, work))
    const found = measured.filter(each => each !== undefined)
    assert(found.length > 0, 'the root cgroup exists')
    return found
  }

  async #measureOne(
    { labels, startedMs, hasNetwork }: PlannedCgroup,
    disks: readonly DiskStats[],
  ): Promise<MeasuredCgroup | undefined> {
    const isRoot = labels.id === '/'
    const timeMs = this.#options.platform.clock.now()
    const read = await this.#cgroups.read(labels.id)
    const stats = isRoot ? await this.#asRoot(read) : read
    if (stats === undefined) return undefined
    const [interfaces, filesystems] = await Promise.all([
      hasNetwork ? this.#interfaces(isRoot ? 1 : stats.processIds[0]) : [],
      isRoot ? this.#filesystems(disks) : [],
    ])
    const names = new Map(disks.map(({ number, device }) => [number, device]))
    const devices = stats.devices.map(own => ({ ...own, device: names.get(own.device) ?? '' }))
    return { labels, timeMs, startedMs, stats: { ...stats, devices }, interfaces, filesystems }
  }

  /** The root cgroup has no memory usage of its own in v2, and its limit is the machine. */
  async #asRoot(read: CgroupStats | undefined): Promise<CgroupStats> {
    const { memoryBytes, swapBytes } = this.#options.linux.machine
    const memorySpec = { limitBytes: memoryBytes, swapLimitBytes: swapBytes, reservationBytes: 0 }
    const stats: CgroupStats = read ?? { processIds: [], devices: [], pressure: {} }
    if (stats.memory !== undefined) return { ...stats, memorySpec }
    const texts = { stat: '', loadavg: '', netDev: '', route: '' }
    const [meminfo, vmstat] = await Promise.all(
      ['/proc/meminfo', '/proc/vmstat'].map(path => this.#read(path)),
    )
    const { memory, swap } = readMachine({ ...texts, meminfo: meminfo!, vmstat: vmstat! })
    return {
      ...stats,
      memorySpec,
      memory: {
        ...memory,
        ...unknownMemory,
        swapBytes: swap.usedBytes,
        inactiveFileBytes: memory.usageBytes - memory.workingSetBytes,
      },
    }
  }

  async #interfaces(processId: number | undefined): Promise<readonly InterfaceUsage[]> {
    return processId === undefined ? [] : networkInterfaces(await this.#read(`/proc/${processId}/net/dev`))
  }

  /** Filesystems on block devices; one that is mounted several times counts once. */
  async #filesystems(disks: readonly DiskStats[]): Promise<readonly Filesystem[]> {
    const { linux } = this.#options
    const mounts = (await linux.mounts.list()).filter(({ source }) => source.startsWith('/dev/'))
    const paths = new Map(mounts.map(({ source, path }) => [source, path]))
    const found = await Promise.all(
      [...paths].slice(0, filesystemsMax).map(async ([device, path]): Promise<Filesystem | undefined> => {
        const space = await linux.files.space(path).catch(() => undefined)
        if (space === undefined) return undefined
        const disk = disks.find(each => each.device === device)
        return {
          device,
          limitBytes: space.totalBytes,
          usedBytes: space.totalBytes - space.availableBytes,
          inodes: space.totalInodes,
          freeInodes: space.freeInodes,
          ...(disk && { disk }),
        }
      }),
    )
    return found.filter(each => each !== undefined)
  }

  /** Empty if the kernel does not provide the file. */
  async #read(path: string): Promise<string> {
    const bytes = await this.#options.platform.files.read(path).catch(() => new Uint8Array())
    return Buffer.from(bytes).toString()
  }
}

/** Not rendered. */
const unknownMemory = {
  maxUsageBytes: NaN,
  cacheBytes: NaN,
  mappedFileBytes: NaN,
  kernelBytes: NaN,
  activeFileBytes: NaN,
  failures: NaN,
  oomKills: NaN,
}

function scrapeError(hasFailed: boolean): MetricFamily {
  return {
    name: 'container_scrape_error',
    help: '1 if containers could not be measured.',
    type: 'gauge',
    metrics: [{ labels: {}, value: hasFailed ? 1 : 0 }],
  }
}

const families: readonly CgroupFamily[] = [
  ...specFamilies,
  ...cpuFamilies,
  ...memoryFamilies,
  ...diskFamilies,
  ...networkFamilies,
  ...pressureFamilies,
]

/** Metrics of cgroups under the names of cAdvisor. */
function containerFamilies(cgroups: readonly MeasuredCgroup[]): readonly MetricFamily[] {
  return families.map(({ read, isTimed, ...family }) => ({
    ...family,
    metrics: cgroups.flatMap(cgroup => {
      const { labels, timeMs } = cgroup
      return Array.from(read(cgroup), ([value, further]): ReadMetric => {
        return {
          labels: further ? { ...labels, ...further } : { ...labels },
          value,
          ...(isTimed && { timeMs }),
        }
      })
    }),
  }))
}
