import { LinkedAbort } from '#/base/abort.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { KillContainer } from '../plan-pod.ts'
import { fieldPathOf, findContainer } from '../pod-containers.ts'
import type { PodSteps } from '../pod-steps.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'

/** Minimum grace period of any container. */
const graceSecondsMin = 2

export interface ContainerKill {
  readonly pod: KubeletPod
  readonly action: KillContainer
  readonly addresses: readonly string[]
  readonly steps: PodSteps
  /** The Killing event was recorded and the preStop hook was run before. */
  readonly isRepeated: boolean
  /** Resolves when the containers that have to exit first are gone. */
  readonly othersGone: () => Promise<void>
  /** Aborted when the grace period is shortened: skips hooks and waiting. */
  readonly signal: AbortSignal
}

/**
 * The preStop hook, the wait for other containers and the stop share the grace period. Resolves when the
 * container has exited.
 */
export async function killContainer(dependencies: PodWorkerDependencies, kill: ContainerKill): Promise<void> {
  const { platform, runtime, recorder } = dependencies
  const { pod, action, isRepeated } = kill
  const { clock, log } = platform
  const target = findContainer(pod, action.name)
  const path = target && { fieldPath: fieldPathOf(target) }
  if (!isRepeated)
    recorder.record(pod, { type: 'Normal', reason: 'Killing', message: action.message, ...path })
  const { namespace, name, uid } = pod.metadata
  const { graceSeconds } = action
  log.info('Killing container with a grace period', {
    namespace,
    pod: name,
    uid,
    container: action.name,
    graceSeconds,
  })
  const beganMs = clock.monotonicMs()
  using patience = new LinkedAbort(kill.signal)
  const timer = clock.setTimer(graceSeconds * 1_000, () => patience.abort(new Error('grace period expired')))
  try {
    if (graceSeconds > 0 && !isRepeated) await runHook(dependencies, kill, patience.signal)
    if (graceSeconds > 0) await untilAborted(kill.othersGone(), patience.signal)
  } finally {
    timer.cancel()
  }
  const leftSeconds = graceSeconds - Math.floor((clock.monotonicMs() - beganMs) / 1_000)
  await runtime.stopContainer(action.id, Math.max(leftSeconds, graceSecondsMin))
}

async function runHook(
  dependencies: PodWorkerDependencies,
  kill: ContainerKill,
  signal: AbortSignal,
): Promise<void> {
  const { pod, action, addresses, steps } = kill
  const target = findContainer(pod, action.name)
  const preStop = target?.container.lifecycle?.preStop
  if (target === undefined || preStop === undefined) return
  const { container } = target
  try {
    const hook = dependencies.hooks.run(
      preStop,
      { pod, container, containerId: action.id, addresses },
      signal,
    )
    await steps.run('pre-stop', container.name, () => untilAborted(hook, signal))
  } catch (error) {
    dependencies.platform.log.warn('PreStop hook failed', { container: container.name, error })
    const content = { type: 'Warning', reason: 'FailedPreStopHook', message: 'PreStopHook failed' } as const
    dependencies.recorder.record(pod, { ...content, fieldPath: fieldPathOf(target) })
  }
}

/** Resolves when the work completes or the signal aborts. */
async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>()
  const abort = (): void => aborted.resolve()
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([
      aborted.promise,
      work.catch(error => (signal.aborted ? undefined : Promise.reject(error))),
    ])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
