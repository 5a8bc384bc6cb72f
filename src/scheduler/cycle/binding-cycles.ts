import { isApiError } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Pass } from '#/api/origin.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import { PassClient } from '#/client/pass-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ClusterEvents } from '../cluster-events.ts'
import { fitErrorMessage } from '../fit-error.ts'
import type { CycleState, QueuedPodInfo, Unschedulable } from '../framework.ts'
import type { CycleMetrics, SchedulerMetrics } from '../metrics.ts'
import { assignedTo } from '../pod-assignment.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Profile } from '../profile.ts'
import type { SchedulingQueue } from '../queue.ts'
import type { SchedulerCache } from '../scheduler-cache.ts'
import { bindPod } from './bind-pod.ts'
import type { FailureReporter } from './failure-reporter.ts'

export interface BindingCyclesOptions {
  readonly platform: Platform
  readonly client: Client
  readonly cache: SchedulerCache
  readonly queue: SchedulingQueue
  readonly events: ClusterEvents
  readonly failures: FailureReporter
  readonly recorderOf: (profile: Profile) => EventRecorder
  /** True if another pod of that name exists by now, which must not be affected by the result of this one. */
  readonly isReplaced: (pod: PodInfo) => boolean
  readonly metrics: SchedulerMetrics
}

/** The pod is assumed on the node. */
export interface BindingCycle {
  readonly pod: PodInfo
  readonly node: string
  readonly profile: Profile
  readonly cycleState: CycleState
  readonly signal: AbortSignal
  readonly queued: QueuedPodInfo
  /** Monotonic time when the scheduling cycle began. */
  readonly startMs: number
  readonly cycleMetrics: CycleMetrics
  /** Of this cycle so far. */
  readonly pass: () => Pass
}

/** Binding cycles run concurrently with the next scheduling cycles. */
export class BindingCycles {
  readonly #options: BindingCyclesOptions

  constructor(options: BindingCyclesOptions) {
    this.#options = options
  }

  /** Binds the pod, or requeues it. */
  async run(cycle: BindingCycle): Promise<void> {
    const { client, platform, queue, recorderOf, metrics } = this.#options
    const { pod, node, profile, cycleState, signal, cycleMetrics } = cycle
    let status: Unschedulable | undefined
    try {
      const work = { client: new PassClient(client, cycle.pass), signal, cycleState }
      status = await bindPod({ pod, node, profile, work, clock: platform.clock, metrics, cycleMetrics })
    } catch (error) {
      return this.#failed(cycle, error)
    }
    if (status !== undefined) return this.#rejected(cycle, status)
    queue.delete(pod.key)
    this.#measureSuccess(cycle)
    const message = `Successfully assigned ${pod.key} to ${node}`
    recorderOf(profile).record(pod.pod, { type: 'Normal', reason: 'Scheduled', message })
  }

  #measureSuccess({ profile, queued, startMs }: BindingCycle): void {
    const { metrics } = this.#options
    const { attempts, initialAttemptMs = startMs, isFlushed } = queued
    metrics.attempted('scheduled', profile.schedulerName, startMs)
    metrics.podScheduled(attempts, initialAttemptMs)
    if (isFlushed) metrics.podsScheduledAfterFlush.add()
  }

  #rejected(cycle: BindingCycle, status: Unschedulable): void {
    const { queue, failures, isReplaced, metrics } = this.#options
    const { pod, node, profile, startMs } = cycle
    this.#forget(cycle)
    metrics.attempted('unschedulable', profile.schedulerName, startMs)
    if (isReplaced(pod)) return
    queue.addUnschedulable(pod.key, new Set(status.plugin === undefined ? [] : [status.plugin]))
    const message = fitErrorMessage(1, new Map([[node, status]]))
    failures.report(pod, { reason: 'Unschedulable', message, nominatedNode: '' }, cycle)
  }

  #failed(cycle: BindingCycle, error: unknown): void {
    const { platform, queue, failures, isReplaced, metrics } = this.#options
    const { pod, node, signal, profile, startMs } = cycle
    this.#forget(cycle)
    if (!signal.aborted) metrics.attempted('error', profile.schedulerName, startMs)
    if (isReplaced(pod)) return
    if (isApiError(error, 'NotFound') || signal.aborted) return queue.delete(pod.key)
    queue.addUnschedulable(pod.key, new Set())
    platform.log.warn('Failed to bind pod', { pod: pod.key, node, error })
    failures.reportError(pod, error, cycle)
  }

  /** Forgets the assumed pod, which may make other pods schedulable. */
  #forget({ pod: { pod, uid }, node }: BindingCycle): void {
    const { cache, events } = this.#options
    cache.forget(uid)
    events.occurred(pods, { oldObject: assignedTo(pod, node) }, other => other.metadata.uid !== uid)
  }
}
