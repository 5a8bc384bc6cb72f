import type { PodStatus } from '#/api/generated/core/v1.ts'
import type { LogFields } from '#/platform/platform.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { ObservedPod } from '../observed-pod.ts'
import type { PodSteps } from '../pod-steps.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'

/** Retry delay of failed starts, with jitter of up to 50% to spread retries. */
const retryMs = 10_000
const retryJitter = 0.5

export interface PodContextOptions {
  readonly dependencies: PodWorkerDependencies
  readonly pod: () => KubeletPod
  readonly observed: () => ObservedPod
  /** Last reported status. */
  readonly status: () => PodStatus
  readonly steps: PodSteps
}

/** Context shared by the actions of one pod: current pod and state, logging and events. */
export class PodContext {
  readonly dependencies: PodWorkerDependencies
  readonly pod: () => KubeletPod
  readonly observed: () => ObservedPod
  readonly status: () => PodStatus
  readonly steps: PodSteps

  constructor({ dependencies, pod, observed, status, steps }: PodContextOptions) {
    this.dependencies = dependencies
    this.pod = pod
    this.observed = observed
    this.status = status
    this.steps = steps
  }

  log(message: string, fields: LogFields = {}): void {
    this.dependencies.platform.log.info(message, { ...this.name(), ...fields })
  }

  /** Records a warning event. */
  recordWarning(reason: string, message: string): void {
    this.dependencies.recorder.record(this.pod(), { type: 'Warning', reason, message })
  }

  name(): LogFields {
    const { namespace, name, uid } = this.pod().metadata
    return { namespace, pod: name, uid }
  }

  /** Time of the next retry after a failure now. */
  retryTimeMs(): number {
    const { clock, random } = this.dependencies.platform
    return clock.now() + retryMs * (1 + retryJitter * random.fraction('retry of a pod'))
  }
}
