import { formatDurationMs } from '#/api/text/duration.ts'
import type { Container, ContainerStatus, Pod, PodStatus } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import {
  outcomeOf,
  outcomeOfAnnotations,
  parseSimulatedCommand,
  type CommandOutcome,
} from '#/cri/simulated-command.ts'
import { nothingObserved } from '../observed-pod.ts'
import { isTerminal } from '../pod-status.ts'
import { podConditions } from '../pod-status/conditions.ts'

export interface PodSyncInput {
  readonly nowMs: number
  readonly hostIp: string
  readonly podIp: string
}

export interface PodPlan {
  readonly status: PodStatus
  /** Requeue delay until the next state change. */
  readonly requeueAfterMs?: number
}

/** Computes the pod status from the previous status and the elapsed time. The status is the only state. */
export function planPod(pod: Stored<Pod>, input: PodSyncInput): PodPlan {
  const { spec, status } = pod
  if (status !== undefined && isTerminal(status.phase)) return { status }
  const progress = new PodProgress(pod, input.nowMs)
  const initContainerStatuses = progress.initContainers()
  const containerStatuses = progress.containers()
  const phase = progress.hasInitFailed ? 'Failed' : phaseOf(pod, containerStatuses, progress.isInitialized)
  const next: PodStatus = {
    ...status,
    phase,
    hostIP: input.hostIp,
    hostIPs: [{ ip: input.hostIp }],
    podIP: input.podIp,
    podIPs: [{ ip: input.podIp }],
    startTime: status?.startTime ?? formatTime(input.nowMs),
    ...(initContainerStatuses.length > 0 && {
      initContainerStatuses: isTerminal(phase)
        ? initContainerStatuses.map(container => stoppedSidecar(container, 0, input.nowMs))
        : initContainerStatuses,
    }),
    containerStatuses,
  }
  const planned = { status: { ...next, conditions: conditionsOf(pod, next, input.nowMs), ...observed(pod) } }
  return progress.nextMs === Infinity || spec === undefined
    ? planned
    : { ...planned, requeueAfterMs: Math.max(1, progress.nextMs - input.nowMs) }
}

/** The pod after all its containers have been stopped. */
export function stoppedPod(pod: Stored<Pod>, nowMs: number): Stored<Pod> {
  const { status } = pod
  if (isTerminal(status?.phase)) return pod
  const containerStatuses = status?.containerStatuses?.map(container => {
    return stopped(container, terminatedBySignal, nowMs)
  })
  const initContainerStatuses = status?.initContainerStatuses?.map(container => {
    return stoppedSidecar(container, terminatedBySignal, nowMs)
  })
  const isWell = containerStatuses?.every(container => container.state?.terminated?.exitCode === 0) ?? false
  const next = {
    ...status,
    phase: isWell ? 'Succeeded' : 'Failed',
    ...(initContainerStatuses && { initContainerStatuses }),
    ...(containerStatuses && { containerStatuses }),
  }
  return { ...pod, status: { ...next, conditions: conditionsOf(pod, next, nowMs) } }
}

function conditionsOf(pod: Stored<Pod>, status: PodStatus, nowMs: number): PodStatus['conditions'] {
  const hasSandbox = !isTerminal(status.phase)
  const previous = pod.status ?? {}
  return podConditions({
    pod,
    previous,
    status,
    hasSandbox,
    observed: nothingObserved,
    nowMs,
  })
}

/** 128 + SIGTERM. */
const terminatedBySignal = 143

/**
 * Restart backoff: the first restart is immediate, then delays double, and a long run resets them.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
 */
const restartMs = { first: 10_000, max: 300_000, ranWell: 600_000 }

class PodProgress {
  readonly #pod: Stored<Pod>
  readonly #nowMs: number
  /** Time of the next state change. */
  nextMs = Infinity
  isInitialized = true
  hasInitFailed = false

  constructor(pod: Stored<Pod>, nowMs: number) {
    this.#pod = pod
    this.#nowMs = nowMs
  }

  /** Init containers run in sequence; a sidecar only has to start. */
  initContainers(): readonly ContainerStatus[] {
    const { initContainers = [] } = this.#pod.spec ?? {}
    return initContainers.map(container => {
      const before = this.#pod.status?.initContainerStatuses?.find(({ name }) => name === container.name)
      if (!this.isInitialized) return before ?? waiting(container, 'PodInitializing')
      if (container.restartPolicy === 'Always') return this.#sidecar(container, before)
      const after = this.#step(container, before, {
        script: initScriptOf(this.#pod, container),
        restartPolicy: initRestarts(this.#pod),
      })
      if (after.state?.terminated?.exitCode === 0) return { ...after, ready: true }
      this.isInitialized = false
      this.hasInitFailed ||= after.state?.terminated !== undefined
      return after
    })
  }

  containers(): readonly ContainerStatus[] {
    const { containers = [], restartPolicy = 'Always' } = this.#pod.spec ?? {}
    return containers.map(container => {
      const before = this.#pod.status?.containerStatuses?.find(({ name }) => name === container.name)
      if (!this.isInitialized) return before ?? waiting(container, 'PodInitializing')
      return this.#step(container, before, { script: scriptOf(this.#pod, container), restartPolicy })
    })
  }

  #step(
    container: Container,
    before: ContainerStatus | undefined,
    { script, restartPolicy }: { readonly script: Script; readonly restartPolicy: string },
  ): ContainerStatus {
    const status = this.#restarted(container, before)
    const terminated = status.state?.terminated
    if (terminated !== undefined || status.state?.waiting) return status
    const startedMs = parseTime(status.state?.running?.startedAt ?? '') ?? this.#nowMs
    if (script === 'forever') return this.#readied(container, status, startedMs)
    const endMs = startedMs + script.afterMs
    if (endMs > this.#nowMs) {
      this.#requeueAt(endMs)
      return this.#readied(container, status, startedMs)
    }
    const end = ended(status, script.exitCode, this.#nowMs)
    const isRestarted = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && script.exitCode !== 0)
    if (!isRestarted) return { ...status, ready: false, started: false, state: { terminated: end } }
    const backoffMs = backoffOf(status.restartCount, end)
    this.#requeueAt(this.#nowMs + backoffMs)
    const { name, namespace, uid } = this.#pod.metadata
    const pod = `${name}_${namespace}(${uid})`
    const message = `back-off ${formatDurationMs(backoffMs)} restarting failed container=${container.name} pod=${pod}`
    return {
      ...status,
      ready: false,
      started: false,
      state: { waiting: { reason: 'CrashLoopBackOff', message } },
      lastState: { terminated: end },
    }
  }

  /** Starts the container, or restarts it once its backoff is over. */
  #restarted(container: Container, before: ContainerStatus | undefined): ContainerStatus {
    if (before === undefined || before.state?.waiting?.reason === 'PodInitializing') {
      return this.#running(container, 0)
    }
    const last = before.lastState?.terminated
    const endedMs = parseTime(last?.finishedAt ?? '')
    if (before.state?.waiting === undefined || last === undefined || endedMs === undefined) return before
    const againMs = endedMs + backoffOf(before.restartCount, last)
    if (againMs <= this.#nowMs) {
      const again = this.#running(container, before.restartCount + 1)
      return { ...again, lastState: { terminated: last } }
    }
    this.#requeueAt(againMs)
    return before
  }

  #sidecar(container: Container, before: ContainerStatus | undefined): ContainerStatus {
    const running = before?.state?.running ? before : this.#running(container, before?.restartCount ?? 0)
    return this.#readied(
      container,
      running,
      parseTime(running.state?.running?.startedAt ?? '') ?? this.#nowMs,
    )
  }

  #running(container: Container, restartCount: number): ContainerStatus {
    const image = container.image ?? ''
    return {
      name: container.name,
      image,
      imageID: `simulated://${image}`,
      containerID: `simulated://${this.#pod.metadata.uid}/${container.name}/${restartCount}`,
      ready: true,
      started: true,
      restartCount,
      state: { running: { startedAt: formatTime(this.#nowMs) } },
    }
  }

  /**
   * Simulated readiness probes succeed after their initial delay, unless a pod annotation makes them fail.
   */
  #readied(container: Container, status: ContainerStatus, startedMs: number): ContainerStatus {
    const { initialDelaySeconds = 0 } = container.readinessProbe ?? {}
    const readyMs = startedMs + initialDelaySeconds * 1_000
    if (readyMs > this.#nowMs) this.#requeueAt(readyMs)
    const ready = readyMs <= this.#nowMs && answersProbes(this.#pod)
    return status.ready === ready ? status : { ...status, ready }
  }

  #requeueAt(ms: number): void {
    this.nextMs = Math.min(this.nextMs, ms)
  }
}

function initRestarts({ spec }: Pod): string {
  return spec?.restartPolicy === 'Never' ? 'Never' : 'OnFailure'
}

function backoffOf(restartCount: number, { startedAt = '', finishedAt = '' }: Terminated): number {
  const ranMs = (parseTime(finishedAt) ?? 0) - (parseTime(startedAt) ?? 0)
  if (restartCount === 0 || ranMs >= restartMs.ranWell) return 0
  return Math.min(restartMs.max, restartMs.first * 2 ** Math.min(restartCount - 1, 10))
}

function waiting(container: Container, reason: string): ContainerStatus {
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ready: false,
    restartCount: 0,
    started: false,
    state: { waiting: { reason } },
  }
}

/** Status after a stop; terminated containers are unchanged. */
function stopped(status: ContainerStatus, exitCode: number, nowMs: number): ContainerStatus {
  if (status.state?.terminated) return status
  return { ...status, ready: false, started: false, state: { terminated: ended(status, exitCode, nowMs) } }
}

/** Stops a running sidecar; other init containers are unchanged. */
function stoppedSidecar(status: ContainerStatus, exitCode: number, nowMs: number): ContainerStatus {
  return status.state?.running ? stopped(status, exitCode, nowMs) : status
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>

function ended(status: ContainerStatus, exitCode: number, nowMs: number): Terminated {
  return {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt: status.state?.running?.startedAt ?? formatTime(nowMs),
    finishedAt: formatTime(nowMs),
    ...(status.containerID && { containerID: status.containerID }),
  }
}

function phaseOf({ spec }: Pod, containers: readonly ContainerStatus[], isInitialized: boolean): string {
  if (!isInitialized) return 'Pending'
  const codes = containers.map(({ state }) => state?.terminated?.exitCode)
  if (spec?.restartPolicy === 'Always' || codes.includes(undefined)) return 'Running'
  return codes.every(code => code === 0) ? 'Succeeded' : 'Failed'
}

function observed({ metadata }: Pod): Pick<PodStatus, 'observedGeneration'> {
  return metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
}

/** A simulated container exits after a time with a code, or runs forever. */
type Script = CommandOutcome | 'forever'

/**
 * Two pod annotations determine the behavior of all containers. Otherwise it follows from the command, if
 * that consists of `sleep`, `exit`, `true`, `false` and `echo`, directly or in a shell. For any other
 * command, a container that is expected to complete exits with 0 after one second, and others run forever.
 */
export function scriptOf(pod: Pod, container: Container): Script {
  return outcomeOfAnnotations(pod.metadata.annotations) ?? scriptOfCommand(container) ?? scriptUsual(pod)
}

/** Without a known end, an init container ends, since the pod could never start otherwise. */
function initScriptOf(pod: Pod, container: Container): Script {
  if (!container.command && !container.args) return { afterMs: 0, exitCode: 0 }
  return outcomeOfAnnotations(pod.metadata.annotations) ?? scriptOfCommand(container) ?? completing
}

/** False if a pod annotation makes probes fail; it can change while the pod runs. */
export function answersProbes({ metadata }: Pod): boolean {
  return metadata.annotations?.[readyAnnotation] !== 'false'
}

const readyAnnotation = 'simulated.k8ts.io/ready'

const completing: Script = { afterMs: 1_000, exitCode: 0 }

function scriptUsual({ spec }: Pod): Script {
  return spec?.restartPolicy === 'Never' || spec?.restartPolicy === 'OnFailure' ? completing : 'forever'
}

function scriptOfCommand({ command = [], args = [] }: Container): Script | undefined {
  const steps = parseSimulatedCommand([...command, ...args])
  return steps && outcomeOf(steps)
}
