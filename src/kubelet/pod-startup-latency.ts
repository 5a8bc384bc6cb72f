/**
 * Measures how long pods take to start, from their creation until the API shows all their containers as started. Pods
 * that another kubelet process has started, and those that could not be scheduled at once, are not measured.
 * https://github.com/kubernetes/community/blob/master/sig-scalability/slos/pod_startup_latency.md
 */
import type { Pod, Volume } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Clock } from '#/platform/platform.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import { isSidecar } from './pod-containers.ts'

/** Time that the pod has spent pulling; overlapping pulls count once. */
interface StartingPod {
  pulls: number
  pullSinceMs: number
  pulledMs: number
}

export class PodStartupLatency {
  readonly #clock: Clock
  readonly #metrics: KubeletMetrics['pods']
  readonly #starting = new Map<string, StartingPod>()
  #hasNetworkPod = false

  constructor(clock: Clock, metrics: KubeletMetrics['pods']) {
    this.#clock = clock
    this.#metrics = metrics
  }

  /** The pod has come to the node. */
  begin({ metadata, status }: Pod): void {
    const { uid = '' } = metadata
    if (status?.startTime !== undefined || isUnschedulable(status)) return
    this.#starting.set(uid, { pulls: 0, pullSinceMs: 0, pulledMs: 0 })
  }

  forget(uid: string): void {
    this.#starting.delete(uid)
  }

  async pull<T>(uid: string, work: () => Promise<T>): Promise<T> {
    const pod = this.#starting.get(uid)
    if (pod === undefined) return work()
    if (pod.pulls++ === 0) pod.pullSinceMs = this.#clock.monotonicMs()
    try {
      return await work()
    } finally {
      if (--pod.pulls === 0) pod.pulledMs += this.#clock.monotonicMs() - pod.pullSinceMs
    }
  }

  /** The API shows the pod with this status. */
  observe(pod: Pod): void {
    const { uid = '', creationTimestamp = '' } = pod.metadata
    const starting = this.#starting.get(uid)
    if (starting === undefined || !hasStarted(pod)) return
    this.#starting.delete(uid)
    const createdMs = parseTime(creationTimestamp)
    if (createdMs === undefined) return
    const totalMs = Math.max(0, this.#clock.now() - createdMs)
    this.#metrics.startTotalDuration.observe(totalMs / 1_000)
    if ((pod.spec?.volumes ?? []).some(isStateful)) return
    const ownSeconds = Math.max(0, totalMs - starting.pulledMs - initMs(pod)) / 1_000
    this.#metrics.startSliDuration.observe(ownSeconds)
    if (this.#hasNetworkPod || pod.spec?.hostNetwork) return
    this.#hasNetworkPod = true
    this.#metrics.firstNetworkPodStart.with().value = ownSeconds
  }
}

function isUnschedulable(status: Pod['status']): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
}

function hasStarted({ status }: Pod): boolean {
  const { containerStatuses = [] } = status ?? {}
  return containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.running?.startedAt)
}

/** A pod with other volumes may wait for storage, which is not the kubelet's time. */
function isStateful({ secret, configMap, downwardAPI, emptyDir, projected }: Volume): boolean {
  return [secret, configMap, downwardAPI, emptyDir, projected].every(source => source === undefined)
}

/** Run time of the init containers that have completed. */
function initMs({ spec, status }: Pod): number {
  const sidecars = new Set((spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  return (status?.initContainerStatuses ?? []).reduce((sum, { name, state }) => {
    const { startedAt = '', finishedAt = '' } = state?.terminated ?? {}
    const spanMs = (parseTime(finishedAt) ?? 0) - (parseTime(startedAt) ?? 0)
    return sidecars.has(name) ? sum : sum + Math.max(0, spanMs)
  }, 0)
}
