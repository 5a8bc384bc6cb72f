/** Resource usage of the node and its pods, measured on request only. */
import { join } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import type { ContainerRuntime, ContainerStats as CriContainerStats, FilesystemUsage } from '#/cri/cri.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { KubeletView } from '../kubelet-view.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import { podLogFolder } from '../pod-paths.ts'
import { sandboxCheckPeriodMs } from '../unresponsive-sandboxes.ts'
import { CpuRates, spanMsMin } from './stats/cpu-rates.ts'
import { readMachine, type MachineUsage } from './stats/read-machine.ts'
import type {
  ContainerStats,
  CpuStats,
  FsStats,
  MemoryStats,
  NodeStats,
  PodStats,
  Summary,
} from './summary.ts'

export interface StatsProviderOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly runtime: ContainerRuntime
  readonly node: KubeletConfiguration
  readonly view: KubeletView
}

const nodeKey = 'node'

export class StatsProvider {
  readonly #options: StatsProviderOptions
  readonly #rates = new CpuRates()
  /** Concurrent requests share one measurement. */
  readonly #running = new Map<string, Promise<Summary>>()

  constructor(options: StatsProviderOptions) {
    this.#options = options
  }

  /** Includes filesystems, networks and CPU rates. */
  summary(): Promise<Summary> {
    return this.#shared('all', async () => {
      await this.#settle()
      return this.#look(true)
    })
  }

  /** CPU and memory only, which are fast to read. */
  resources(): Promise<Summary> {
    return this.#shared('resources', () => this.#look(false))
  }

  /** Like `resources`, with CPU rates. */
  usage(): Promise<Summary> {
    return this.#shared('usage', async () => {
      await this.#settle()
      return this.#look(false)
    })
  }

  #shared(what: string, look: () => Promise<Summary>): Promise<Summary> {
    const running = this.#running.get(what)
    if (running !== undefined) return running
    const started = look().finally(() => this.#running.delete(what))
    this.#running.set(what, started)
    return started
  }

  /** A CPU rate needs two samples: takes the first one if there is no recent sample. */
  async #settle(): Promise<void> {
    const { clock } = this.#options.platform
    if (this.#rates.isFresh(nodeKey, clock.monotonicMs())) return
    await this.#look(false)
    await clock.sleep(spanMsMin)
  }

  async #look(isWhole: boolean): Promise<Summary> {
    const { platform, view } = this.#options
    const [machine, containers, images] = await Promise.all([
      this.#readMachine(),
      this.#containersStats(),
      isWhole ? this.#imageFsStats() : undefined,
    ])
    const nowMs = platform.clock.monotonicMs()
    this.#rates.keep(new Set([nodeKey, ...containers.map(({ containerId }) => containerId)]))
    const pods: PodStats[] = []
    for (const pod of view.pods()) {
      const own = containers.filter(({ podUid }) => podUid === pod.metadata.uid)
      if (own.length > 0) pods.push(await this.#podStats(pod, own, { nowMs, images }))
    }
    return { node: await this.#nodeStats(machine, nowMs, images), pods }
  }

  /** The runtime waits for each shim. One that does not answer has to be found, since it delays all others. */
  async #containersStats(): Promise<readonly CriContainerStats[]> {
    const { platform, runtime, node, view } = this.#options
    const timer = platform.clock.setTimer(sandboxCheckPeriodMs(node), () => {
      for (const { metadata } of view.pods()) void view.isSandboxResponding(metadata.uid)
    })
    try {
      return await runtime.listContainerStats()
    } finally {
      timer.cancel()
    }
  }

  async #nodeStats(machine: MachineUsage, nowMs: number, images: FsStats | undefined): Promise<NodeStats> {
    const { platform, node } = this.#options
    const time = formatTime(platform.clock.now())
    const { totalBytes, ...memory } = machine.memory
    const { swap, interfaces, defaultInterface } = machine
    const usage: NodeStats = {
      nodeName: node.name,
      startTime: formatTime(machine.bootedMs),
      cpu: this.#cpuStats(nodeKey, machine.cpuNanoseconds, { time, nowMs }),
      memory: { time, ...memory, availableBytes: Math.max(0, totalBytes - memory.workingSetBytes) },
      swap: { time, swapAvailableBytes: swap.totalBytes - swap.usedBytes, swapUsageBytes: swap.usedBytes },
    }
    if (images === undefined) return usage
    const maxpid = Number(await this.#read('/proc/sys/kernel/pid_max'))
    return {
      ...usage,
      network: { time, ...interfaces.find(({ name }) => name === defaultInterface), interfaces },
      fs: await this.#fsStats(node.rootDirectory),
      runtime: { imageFs: images, containerFs: images },
      rlimit: { time, maxpid, curproc: machine.processes },
    }
  }

  async #podStats(
    pod: KubeletPod,
    containers: readonly CriContainerStats[],
    { nowMs, images }: { readonly nowMs: number; readonly images: FsStats | undefined },
  ): Promise<PodStats> {
    const { name, namespace, uid } = pod.metadata
    const used: ContainerStats[] = []
    for (const stats of containers) {
      const usage = this.#containerStats(pod, stats, nowMs)
      used.push(
        images === undefined ? usage : { ...usage, ...(await this.#containerDisk(pod, stats, images)) },
      )
    }
    const disks = used.flatMap(({ rootfs, logs }) => [rootfs, logs].filter(each => each !== undefined))
    return {
      podRef: { name, namespace, uid },
      startTime: pod.status?.startTime ?? '',
      containers: used,
      cpu: sumOfCpu(used),
      memory: sumOfMemory(used),
      ...(images && {
        'ephemeral-storage': {
          ...images,
          usedBytes: disks.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
          inodesUsed: disks.reduce((sum, { inodesUsed }) => sum + inodesUsed, 0),
        },
      }),
    }
  }

  #containerStats(pod: KubeletPod, stats: CriContainerStats, nowMs: number): ContainerStats {
    const time = formatTime(Number(stats.timestamp / 1_000_000n))
    const startTime = startOf(pod, stats.containerId)
    const { containerId, cpuNanoseconds } = stats
    const cpu = this.#cpuStats(containerId, Number(cpuNanoseconds), { time, nowMs })
    return {
      name: stats.name,
      startTime,
      cpu: { ...cpu, usageNanoCores: cpu.usageNanoCores ?? averageSince(startTime, stats) },
      memory: {
        time,
        usageBytes: stats.memoryUsageBytes,
        workingSetBytes: stats.memoryWorkingSetBytes,
        rssBytes: stats.memoryRssBytes,
        pageFaults: stats.memoryPageFaults,
        majorPageFaults: stats.memoryMajorPageFaults,
      },
      ...(stats.swapUsageBytes !== undefined && {
        swap: {
          time,
          swapUsageBytes: stats.swapUsageBytes,
          swapAvailableBytes: stats.swapAvailableBytes ?? 0,
        },
      }),
    }
  }

  async #containerDisk(
    pod: KubeletPod,
    { name, writableLayerBytes, writableLayerInodes }: CriContainerStats,
    images: FsStats,
  ): Promise<Pick<ContainerStats, 'rootfs' | 'logs'>> {
    const { linux, node } = this.#options
    const logs = await linux.files
      .usage(join(podLogFolder(node, pod), name))
      .catch(() => ({ bytes: 0, inodes: 0 }))
    return {
      rootfs: { ...images, usedBytes: writableLayerBytes, inodesUsed: writableLayerInodes },
      logs: { ...images, usedBytes: logs.bytes, inodesUsed: logs.inodes },
    }
  }

  #cpuStats(
    key: string,
    usageCoreNanoSeconds: number,
    { time, nowMs }: { readonly time: string; readonly nowMs: number },
  ): CpuStats {
    const usageNanoCores = this.#rates.sample(key, nowMs, usageCoreNanoSeconds)
    return { time, ...(usageNanoCores !== undefined && { usageNanoCores }), usageCoreNanoSeconds }
  }

  async #imageFsStats(): Promise<FsStats> {
    const { runtime, node } = this.#options
    const { folder, usedBytes, usedInodes }: FilesystemUsage = await runtime.imageFsInfo()
    const disk = await this.#fsStats(folder).catch(() => this.#fsStats(node.rootDirectory))
    return { ...disk, usedBytes, inodesUsed: usedInodes }
  }

  async #fsStats(folder: string): Promise<FsStats> {
    const { platform, linux } = this.#options
    const { totalBytes, availableBytes, totalInodes, freeInodes } = await linux.files.space(folder)
    return {
      time: formatTime(platform.clock.now()),
      availableBytes,
      capacityBytes: totalBytes,
      usedBytes: totalBytes - availableBytes,
      inodesFree: freeInodes,
      inodes: totalInodes,
      inodesUsed: totalInodes - freeInodes,
    }
  }

  async #readMachine(): Promise<MachineUsage> {
    const [stat, meminfo, vmstat, loadavg, netDev, route] = await Promise.all(
      machineFiles.map(path => this.#read(path)),
    )
    return readMachine({
      stat: stat!,
      meminfo: meminfo!,
      vmstat: vmstat!,
      loadavg: loadavg!,
      netDev: netDev!,
      route: route!,
    })
  }

  /** Empty if the kernel does not provide the file. */
  async #read(path: string): Promise<string> {
    const bytes = await this.#options.platform.files.read(path).catch(() => new Uint8Array())
    return Buffer.from(bytes).toString()
  }
}

const machineFiles = [
  '/proc/stat',
  '/proc/meminfo',
  '/proc/vmstat',
  '/proc/loadavg',
  '/proc/net/dev',
  '/proc/net/route',
]

function startOf({ status }: Pod, containerId: string): string {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {}
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
  const found = all.find(({ containerID }) => containerID?.endsWith(`://${containerId}`))
  return found?.state?.running?.startedAt ?? status?.startTime ?? ''
}

/** CPU rate of a container without an earlier sample: the average since its start. */
function averageSince(startTime: string, { cpuNanoseconds, timestamp }: CriContainerStats): number {
  const seconds = (Number(timestamp / 1_000_000n) - Date.parse(startTime)) / 1_000
  return seconds > 1 ? Math.round(Number(cpuNanoseconds) / seconds) : Number(cpuNanoseconds)
}

function sumOfCpu(containers: readonly ContainerStats[]): CpuStats {
  return {
    time: containers[0]!.cpu.time,
    usageNanoCores: containers.reduce((sum, { cpu }) => sum + (cpu.usageNanoCores ?? 0), 0),
    usageCoreNanoSeconds: containers.reduce((sum, { cpu }) => sum + cpu.usageCoreNanoSeconds, 0),
  }
}

function sumOfMemory(containers: readonly ContainerStats[]): MemoryStats {
  const sum = (figure: (memory: MemoryStats) => number): number =>
    containers.reduce((total, { memory }) => total + figure(memory), 0)
  return {
    time: containers[0]!.memory.time,
    usageBytes: sum(({ usageBytes }) => usageBytes),
    workingSetBytes: sum(({ workingSetBytes }) => workingSetBytes),
    rssBytes: sum(({ rssBytes }) => rssBytes),
    pageFaults: sum(({ pageFaults }) => pageFaults),
    majorPageFaults: sum(({ majorPageFaults }) => majorPageFaults),
  }
}
