import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Pass } from '#/api/origin.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import { PassClient } from '#/client/pass-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PreemptionWork, Unschedulable } from '../framework.ts'
import type { SchedulerMetrics } from '../metrics.ts'
import type { PodInfo } from '../pod-info.ts'
import type { SchedulingQueue } from '../queue.ts'

export interface PreemptionsOptions {
  readonly platform: Platform
  readonly client: Client
  readonly queue: SchedulingQueue
  readonly metrics: SchedulerMetrics
}

export interface Preemption {
  /** The preemptor. */
  readonly pod: PodInfo
  readonly preempt: (work: PreemptionWork) => Promise<void>
  readonly recorder: EventRecorder
  readonly signal: AbortSignal
  /** Of the scheduling cycle of the preemptor. */
  readonly pass: () => Pass
}

const inProgress: Unschedulable = { reason: 'waiting for the preemption for this pod to be finished' }

/** Victims are evicted asynchronously; the preemptor is gated until all evictions are requested. */
export class Preemptions {
  readonly #options: PreemptionsOptions
  /** Uids of preemptors. */
  readonly #inProgress = new Set<string>()

  constructor(options: PreemptionsOptions) {
    this.#options = options
  }

  preEnqueue({ metadata }: Stored<Pod>): Unschedulable | undefined {
    return this.#inProgress.has(metadata.uid) ? inProgress : undefined
  }

  async run({ pod: { uid, key }, preempt, recorder, signal, pass }: Preemption): Promise<void> {
    const { platform, client, queue, metrics } = this.#options
    const startMs = platform.clock.monotonicMs()
    this.#inProgress.add(uid)
    try {
      const own = new PassClient(client, pass)
      await preempt({ client: own, signal, record: (about, event) => recorder.record(about, event) })
    } catch (error) {
      this.#inProgress.delete(uid)
      metrics.preempted('error', startMs)
      if (signal.aborted) return
      platform.log.warn('Error occurred during async preemption', { pod: key, error })
      return queue.activate(key)
    }
    this.#inProgress.delete(uid)
    metrics.preempted('success', startMs)
    queue.recheckPreEnqueue(key)
  }
}
