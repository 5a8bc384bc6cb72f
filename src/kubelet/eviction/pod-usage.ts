/** Measures the resource usage of pods: only what a decision needs, because the rest is expensive. */
import type { ContainerRuntime, ContainerStats } from '#/cri/cri.ts'
import type { PodCgroups } from '../cgroups.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { DiskUsages, type DiskUsagesOptions } from './disk-usages.ts'

/** Resource usage of a pod, as far as it was measured. */
export interface PodUsage {
  readonly containers: readonly ContainerUsage[]
  /** Volumes on the node's disk that are removed with the pod. */
  readonly volumes: readonly VolumeDiskUsage[]
  /** With threads. */
  readonly processes: number
  /** Working set of the pod's cgroup. If it is unknown, that of the containers counts. */
  readonly memoryBytes?: number
  /** False if the runtime does not report the containers, such as when a shim does not answer. */
  readonly isComplete: boolean
}

export interface ContainerUsage {
  readonly name: string
  /** Working set. */
  readonly memoryBytes: number
  readonly writableLayer: DiskAmount
  readonly logs: DiskAmount
}

export interface VolumeDiskUsage extends DiskAmount {
  readonly name: string
}

export interface DiskAmount {
  readonly bytes: number
  readonly inodes: number
}

/**
 * `containers`: memory and writable layers, from the runtime. `disk`: logs and volumes. `memory` and `processes`: of
 * the pod, from its cgroup.
 */
export type UsagePart = 'containers' | 'disk' | 'memory' | 'processes'

/** Eviction must not wait for a runtime that does not answer. */
const statsTimeoutMs = 5_000

export interface PodUsagesOptions extends DiskUsagesOptions {
  readonly runtime: Pick<ContainerRuntime, 'listContainerStats'>
  readonly cgroups: Pick<PodCgroups, 'memoryOf' | 'processesOf'>
}

export class PodUsages {
  readonly #options: PodUsagesOptions
  readonly #disks: DiskUsages

  constructor(options: PodUsagesOptions) {
    this.#options = options
    this.#disks = new DiskUsages(options)
  }

  /** By UID. Parts that are not wanted are empty. */
  async measure(
    pods: readonly KubeletPod[],
    wanted: ReadonlySet<UsagePart>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUsage>> {
    const { cgroups } = this.#options
    const [stats, disks] = await Promise.all([
      wanted.has('containers') ? this.#containerStats(signal) : undefined,
      wanted.has('disk') ? this.#disks.measure(pods, signal) : undefined,
    ])
    const usages = new Map<string, PodUsage>()
    for (const pod of pods) {
      const { uid } = pod.metadata
      const disk = disks?.get(uid)
      const containers = (stats ?? [])
        .filter(({ podUid }) => podUid === uid)
        .map(({ name, memoryWorkingSetBytes, writableLayerBytes, writableLayerInodes }) => ({
          name,
          memoryBytes: memoryWorkingSetBytes,
          writableLayer: { bytes: writableLayerBytes, inodes: writableLayerInodes },
          logs: disk?.logs.get(name) ?? nothing,
        }))
      const processes = wanted.has('processes') ? await cgroups.processesOf(pod).catch(() => 0) : 0
      const memoryBytes = wanted.has('memory')
        ? await cgroups.memoryOf(pod).catch(() => undefined)
        : undefined
      usages.set(uid, {
        containers,
        volumes: disk?.volumes ?? [],
        processes,
        ...(memoryBytes !== undefined && { memoryBytes }),
        isComplete: stats === undefined || memoryBytes !== undefined || containers.length > 0,
      })
    }
    return usages
  }

  /** Undefined if the runtime does not answer; the rest is measured without it. */
  async #containerStats(signal: AbortSignal): Promise<readonly ContainerStats[] | undefined> {
    const { runtime, platform } = this.#options
    try {
      return await runtime.listContainerStats({}, { signal, timeoutMs: statsTimeoutMs })
    } catch (error) {
      signal.throwIfAborted()
      platform.log.warn('Eviction manager: failed to get summary stats', { error })
      return undefined
    }
  }
}

const nothing: DiskAmount = { bytes: 0, inodes: 0 }

export function sumOf<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((sum, item) => sum + amount(item), 0)
}
