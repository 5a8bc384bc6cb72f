import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import type { LogFields } from '#/platform/platform.ts'
import type { ObservedPod } from '../observed-pod.ts'
import type { PodParts } from '../pod-parts.ts'

/** Retry delay of failed starts, with jitter of up to 50% to spread retries. */
const retryMs = 10_000
const retryJitter = 0.5

export interface PodMattersOptions {
  readonly parts: PodParts
  readonly pod: () => Pod
  readonly observed: () => ObservedPod
  /** Last reported status. */
  readonly status: () => PodStatus
}

/** Context shared by the actions of one pod: current pod and state, logging and events. */
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

  /** Records a warning event. */
  tell(reason: string, message: string): void {
    this.parts.recorder.record(this.pod(), { type: 'Warning', reason, message })
  }

  name(): LogFields {
    const { namespace, name, uid } = this.pod().metadata ?? {}
    return { namespace, pod: name, uid }
  }

  /** Time of the next retry after a failure now. */
  retryTimeMs(): number {
    const { clock, random } = this.parts.platform
    return clock.now() + retryMs * (1 + retryJitter * random.fraction('retry of a pod'))
  }
}
