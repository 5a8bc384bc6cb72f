import type { Container } from '#/api/generated/core/v1.ts'
import { formatDurationMs } from '#/api/text/duration.ts'
import { latestInSandbox, latestOf, type ObservedContainer } from '../observed-pod.ts'
import type { PodAction, PodPlan, PodSyncInput, Waiting } from '../plan-pod.ts'
import { formatPod } from '../kubelet-pod.ts'
import { planRestart } from '../restart-backoff.ts'
import { killContainer, type KillReason } from './kill-containers.ts'

/** Plan under construction: actions per container, and waiting containers with their backoff. */
export class ContainerPlan {
  readonly #input: PodSyncInput
  readonly #sandboxId: string
  readonly #actions: PodAction[] = []
  readonly #waiting = new Map<string, Waiting>()
  #againAtMs = Infinity
  /**
   * A container is started for the first time in this sandbox: later ones wait for it, because users rely on
   * the order.
   */
  #isStarting = false

  constructor(input: PodSyncInput, sandboxId: string) {
    this.#input = input
    this.#sandboxId = sandboxId
  }

  add(...actions: readonly PodAction[]): void {
    this.#actions.push(...actions)
  }

  kill(target: ObservedContainer, reason: KillReason): void {
    this.add(killContainer(this.#input.pod, target, reason))
  }

  /** Called for a running container with an unfinished start (postStart hook): later ones wait. */
  holdOthers(): void {
    this.#isStarting = true
  }

  /** Plans the start now or after the backoff. */
  start(container: Container): void {
    const { name } = container
    const { observed, starting, retryAtMs, nowMs, areVolumesReady } = this.#input
    const isFirst = latestInSandbox(observed, name) === undefined
    if (starting.has(name)) {
      this.#isStarting = true
      return
    }
    const latest = latestOf(observed, name)
    if (latest?.state === 'created') {
      this.add({ type: 'remove-container', id: latest.id, name, attempt: latest.attempt })
      return
    }
    if (!areVolumesReady || this.#mustWait(container, latest)) return
    const retry = retryAtMs.get(name) ?? 0
    if (retry > nowMs) {
      this.#lookAgainAt(retry)
      return
    }
    if (isFirst && this.#isStarting) return
    this.#isStarting ||= isFirst
    const failed = this.#failedBefore(latest)
    const restart = failed && planRestart(this.#input.restarts.get(name), failed, nowMs).next
    this.add({
      type: 'start-container',
      name,
      sandboxId: this.#sandboxId,
      attempt: this.#attemptOf(container, latest),
      ...(restart && { restart }),
    })
  }

  result(): PodPlan {
    const againAtMs = this.#againAtMs
    return {
      actions: this.#actions,
      waiting: this.#waiting,
      stage: 'running',
      ...(againAtMs < Infinity && { againAtMs }),
    }
  }

  #mustWait(container: Container, latest: ObservedContainer | undefined): boolean {
    const failed = this.#failedBefore(latest)
    if (failed === undefined) return false
    const { pod, restarts, nowMs } = this.#input
    const { notBeforeMs, delayMs } = planRestart(restarts.get(container.name), failed, nowMs)
    if (notBeforeMs <= nowMs) return false
    const message =
      `back-off ${formatDurationMs(delayMs)} restarting failed ` +
      `container=${container.name} pod=${formatPod(pod)}`
    this.#waiting.set(container.name, { reason: 'CrashLoopBackOff', message })
    this.#lookAgainAt(notBeforeMs)
    return true
  }

  /**
   * A container killed by the kubelet for a restart does not count as failed; the backoff follows from the
   * exit before it.
   */
  #failedBefore(latest: ObservedContainer | undefined): ObservedContainer | undefined {
    const { observed, restarting } = this.#input
    if (latest === undefined || !restarting.has(latest.id)) return latest
    return observed.containers.find(({ name, id, state }) => {
      return name === latest.name && id !== latest.id && state === 'exited'
    })
  }

  #lookAgainAt(ms: number): void {
    this.#againAtMs = Math.min(this.#againAtMs, ms)
  }

  /** If the runtime has removed the earlier containers, the count comes from the status. */
  #attemptOf({ name }: Container, latest: ObservedContainer | undefined): number {
    if (latest !== undefined) return latest.attempt + 1
    const { initContainerStatuses = [], containerStatuses = [] } = this.#input.status
    const status = [...initContainerStatuses, ...containerStatuses].find(status => status.name === name)
    return status === undefined ? 0 : status.restartCount + (status.containerID ? 1 : 0)
  }
}
