import { join } from 'node:path'
import type { LinuxFiles } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { podLogFolder } from '../pod-paths.ts'
import type { PodVolumes } from '../volumes.ts'
import type { DiskAmount, VolumeDiskUsage } from './pod-usage.ts'

export interface DiskUsagesOptions {
  readonly platform: Platform
  readonly linux: { readonly files: Pick<LinuxFiles, 'usage'> }
  readonly volumes: Pick<PodVolumes, 'ephemeralUsage'>
  readonly node: KubeletConfiguration
}

/** Disk usage of a pod without writable layers, which the runtime measures. */
export interface PodDiskUsage {
  /** By container name. */
  readonly logs: ReadonlyMap<string, DiskAmount>
  readonly volumes: readonly VolumeDiskUsage[]
}

/** A measurement is waited for no longer than this; a longer one serves later rounds. */
const waitMs = 2_000

/** Share of the time in which a pod is measured: one with many files is measured less often. */
const measuringShare = 1 / 20

/** Long measurements in progress; at the bound, no further one begins. */
const walksMax = 4

/** Measurements of pods that are no longer asked for are dropped after this time. */
const keptMs = 600_000

/** Measures the disk usage of pods by walking their folders, one after the other. */
export class DiskUsages {
  readonly #options: DiskUsagesOptions
  readonly #measured = new Map<string, { readonly usage: PodDiskUsage; readonly dueMs: number }>()
  /** UIDs of pods that are being measured. */
  readonly #busy = new Set<string>()
  #walks = 0

  constructor(options: DiskUsagesOptions) {
    this.#options = options
  }

  /** By UID; pods whose first measurement takes longer are absent. */
  async measure(
    pods: readonly KubeletPod[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodDiskUsage>> {
    const { clock } = this.#options.platform
    const nowMs = clock.monotonicMs()
    for (const [uid, { dueMs }] of this.#measured) if (dueMs < nowMs - keptMs) this.#measured.delete(uid)
    const waiting = new AbortController()
    const sleeping = clock.sleep(waitMs, AbortSignal.any([signal, waiting.signal])).catch(() => undefined)
    try {
      if (this.#walks < walksMax) await Promise.race([this.#walk(pods, signal), sleeping])
    } finally {
      waiting.abort()
    }
    signal.throwIfAborted()
    return new Map([...this.#measured].map(([uid, { usage }]) => [uid, usage]))
  }

  async #walk(pods: readonly KubeletPod[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    this.#walks++
    for (const pod of pods) {
      const { uid, namespace, name } = pod.metadata
      const startMs = clock.monotonicMs()
      if (signal.aborted) break
      if (this.#busy.has(uid) || startMs < (this.#measured.get(uid)?.dueMs ?? 0)) continue
      this.#busy.add(uid)
      try {
        const usage = await this.#measure(pod, signal)
        const endMs = clock.monotonicMs()
        this.#measured.set(uid, { usage, dueMs: endMs + (endMs - startMs) * (1 / measuringShare - 1) })
      } catch (error) {
        const details = { namespace, pod: name, uid, error }
        if (!signal.aborted) log.debug('Failed to measure the disk usage of pod', details)
      } finally {
        this.#busy.delete(uid)
      }
    }
    this.#walks--
  }

  async #measure(pod: KubeletPod, signal: AbortSignal): Promise<PodDiskUsage> {
    const { linux, volumes, node } = this.#options
    const logs = new Map<string, DiskAmount>()
    for (const { name } of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]) {
      const usage = await linux.files
        .usage(join(podLogFolder(node, pod), name), signal)
        .catch(() => undefined)
      signal.throwIfAborted()
      if (usage !== undefined) logs.set(name, usage)
    }
    const used = await volumes.ephemeralUsage(pod, signal)
    return {
      logs,
      volumes: used.map(({ name, usedBytes, usedInodes }) => ({
        name,
        bytes: usedBytes,
        inodes: usedInodes,
      })),
    }
  }
}
