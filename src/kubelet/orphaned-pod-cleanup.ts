/**
 * Removes containers, sandboxes, volumes, cgroups and logs of unknown pods: pods deleted while the kubelet
 * was down, or work that was interrupted. It ignores pods with a worker and containers without Kubernetes'
 * labels.
 */
import { join } from 'node:path'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { planOrphanedPods, type OrphanedPod } from './orphaned-pod-cleanup/plan-orphaned-pods.ts'

export interface OrphanedPodCleanupOptions {
  readonly platform: Platform
  readonly runtime: ContainerRuntime
  readonly node: KubeletConfiguration
  readonly metrics: KubeletMetrics
  readonly volumes: {
    podsWithVolumes(): Promise<readonly string[]>
    unmount(uid: string, signal: AbortSignal): Promise<void>
  }
  readonly cgroups: { list(): Promise<readonly string[]>; remove(uid: string): Promise<void> }
  /** UIDs of pods that are assigned to the node or still have a worker. */
  readonly known: () => ReadonlySet<string>
}

/** Period of the safety sweep: no orphans are expected while the kubelet runs. */
const sweepMs = 300_000
/** Retry delay after a failed removal. */
const retryMs = 10_000
const graceSeconds = 2

export class OrphanedPodCleanup {
  readonly #options: OrphanedPodCleanupOptions
  #isSweepRequested = false
  #endSleep: (() => void) | undefined

  constructor(options: OrphanedPodCleanupOptions) {
    this.#options = options
  }

  /** Triggers a sweep. */
  requestSweep(): void {
    this.#isSweepRequested = true
    this.#endSleep?.()
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options.platform
    while (!signal.aborted) {
      this.#isSweepRequested = false
      let waitMs = sweepMs
      try {
        if (!(await this.sweep(signal))) waitMs = retryMs
      } catch (error) {
        waitMs = retryMs
        if (!signal.aborted) log.warn('Failed cleaning pods', { error })
      }
      if (!this.#isSweepRequested) await this.#sleep(waitMs, signal)
    }
  }

  /** Resolves with true if everything was removed. */
  async sweep(signal: AbortSignal): Promise<boolean> {
    const { platform, runtime, node, volumes, cgroups } = this.#options
    const [sandboxes, containers, volumeUids, cgroupUids, logFolders] = await Promise.all([
      runtime.listPodSandbox({}, { signal }),
      runtime.listContainers({}, { signal }),
      volumes.podsWithVolumes(),
      cgroups.list(),
      platform.files.list(node.podLogsDir).catch(() => []),
    ])
    // Known pods are read last: a pod that was added in the meantime is known, so it is not taken for an
    // orphan.
    const known = this.#options.known()
    const orphans = planOrphanedPods({ known, sandboxes, containers, volumeUids, cgroupUids, logFolders })
    const removed = await Promise.all(orphans.map(orphan => this.#tryRemove(orphan, signal)))
    this.#count(orphans, removed, new Set(volumeUids))
    return removed.every(Boolean)
  }

  #count(
    orphans: readonly OrphanedPod[],
    removed: readonly boolean[],
    withVolumes: ReadonlySet<string>,
  ): void {
    const { orphaned, orphansCleaned, orphansFailed } = this.#options.metrics.pods
    orphaned.add(
      orphans.filter(({ sandboxes, containers }) => sandboxes.length + containers.length > 0).length,
    )
    orphansCleaned.value = orphans.filter(({ uid }) => withVolumes.has(uid)).length
    orphansFailed.value = orphans.filter(({ uid }, index) => withVolumes.has(uid) && !removed[index]).length
  }

  async #tryRemove(orphan: OrphanedPod, signal: AbortSignal): Promise<boolean> {
    const { log } = this.#options.platform
    try {
      await this.#remove(orphan, signal)
      log.info('Cleaned up orphaned pod', { ...orphan })
      return true
    } catch (error) {
      if (!signal.aborted) log.warn('Failed to clean up orphaned pod', { ...orphan, error })
      return false
    }
  }

  async #remove(
    { uid, sandboxes, running, containers, logFolders }: OrphanedPod,
    signal: AbortSignal,
  ): Promise<void> {
    const { platform, runtime, node, volumes, cgroups } = this.#options
    await Promise.all(running.map(id => runtime.stopContainer(id, graceSeconds, { signal })))
    for (const id of containers) await runtime.removeContainer(id, { signal })
    for (const id of sandboxes) {
      await runtime.stopPodSandbox(id, { signal })
      await runtime.removePodSandbox(id, { signal })
    }
    await volumes.unmount(uid, signal)
    await cgroups.remove(uid)
    for (const name of logFolders) await platform.files.remove(join(node.podLogsDir, name))
  }

  async #sleep(waitMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController()
    this.#endSleep = () => woken.abort()
    const either = AbortSignal.any([signal, woken.signal])
    await this.#options.platform.clock.sleep(waitMs, either).catch(() => undefined)
    this.#endSleep = undefined
  }
}
