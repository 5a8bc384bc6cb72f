import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import type { LogFields } from '#/platform/platform.ts'
import type { ObservedPod } from '../observed-pod.ts'
import type { PodParts } from '../pod-parts.ts'

/** How long what could not be begun is left alone; up to half as much again, so that not all come back together. */
const retryMs = 10_000
const retryJitter = 0.5

export interface PodMattersOptions {
  readonly parts: PodParts
  readonly pod: () => Pod
  readonly observed: () => ObservedPod
  /** As it was said last. */
  readonly status: () => PodStatus
}

/** What everybody asks who does something for one pod: the pod as it is now, and what it is called in logs. */
export class PodMatters {
  readonly parts: PodParts
  readonly pod: () => Pod
  readonly observed: () => ObservedPod
  readonly status: () => PodStatus

  constructor({ parts, pod, observed, status }: PodMattersOptions) {
    this.parts = parts
    this.pod = pod
    this.observed = observed
    this.status = status
  }

  log(message: string, fields: LogFields = {}): void {
    this.parts.platform.log.info(message, { ...this.name(), ...fields })
  }

  /** What went wrong, for people. */
  tell(reason: string, message: string): void {
    this.parts.recorder.record(this.pod(), { type: 'Warning', reason, message })
  }

  name(): LogFields {
    const { namespace, name, uid } = this.pod().metadata ?? {}
    return { namespace, pod: name, uid }
  }

  /** When to try again what has failed just now. */
  retryTimeMs(): number {
    const { clock, random } = this.parts.platform
    return clock.now() + retryMs * (1 + retryJitter * random.fraction('retry of a pod'))
  }
}
