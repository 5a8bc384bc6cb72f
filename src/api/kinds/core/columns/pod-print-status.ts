/**
 * Computes the READY, STATUS and RESTARTS columns of a pod. Until all init containers have completed, they
 * determine the status; then the containers do, the first taking precedence. Sidecars (restartable init
 * containers) count as containers. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodStatus,
} from '../../../generated/core/v1.ts'
import { isTrue } from '../../cell-text.ts'
import type { Unchecked } from '../../validation/unchecked.ts'

export interface PodPrintStatus {
  readonly ready: number
  readonly containers: number
  readonly status: string
  readonly restarts: number
  /** `finishedAt` of the most recent termination before a restart; empty if no container was restarted. */
  readonly lastRestart: string
}

export function podPrintStatus(pod: Unchecked<Pod>): PodPrintStatus {
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  const status = pod.status ?? {}
  const sidecars = sidecarNames(initContainers)
  const init = startUp(status, sidecars)
  const isHeldUp = init.held !== undefined && !isTrue(status.conditions, 'Initialized')
  const place = `${init.passed}/${initContainers.length}`
  const start = init.held === undefined ? ownStatus(status) : `Init:${init.held || place}`
  const tally = isHeldUp ? init.all : init.sidecars
  const text = isHeldUp ? start : summarizeContainers(status, start, tally)
  return {
    ready: tally.ready,
    containers: containers.length + sidecars.size,
    status: whileDeleted(pod, text),
    restarts: tally.restarts,
    lastRestart: tally.lastRestart,
  }
}

/** Counts over a group of containers. */
interface Tally {
  ready: number
  restarts: number
  lastRestart: string
}

const noNames: ReadonlySet<string> = new Set()

function sidecarNames(initContainers: readonly Unchecked<Container>[]): ReadonlySet<string> {
  let names: Set<string> | undefined
  for (const { name = '', restartPolicy } of initContainers) {
    if (restartPolicy === 'Always') names = (names ?? new Set()).add(name)
  }
  return names ?? noNames
}

interface StartUp {
  /**
   * Reason that initialization is not complete, empty if only the progress is known; undefined if it is
   * complete.
   */
  held: string | undefined
  /** Number of completed init containers. */
  passed: number
  /** Counts of the init containers up to the first incomplete one, and of the sidecars among them. */
  readonly all: Tally
  readonly sidecars: Tally
}

function startUp({ initContainerStatuses = [] }: Unchecked<PodStatus>, names: ReadonlySet<string>): StartUp {
  const all: Tally = { ready: 0, restarts: 0, lastRestart: '' }
  const sidecars: Tally = { ready: 0, restarts: 0, lastRestart: '' }
  const result: StartUp = { held: undefined, passed: 0, all, sidecars }
  for (const container of initContainerStatuses) {
    const isSidecar = names.has(container.name ?? '')
    addRestarts(all, container)
    if (isSidecar) addRestarts(sidecars, container)
    const { terminated, waiting } = container.state ?? {}
    const isThrough = terminated !== undefined && exitCodeOf(terminated) === 0
    if (isSidecar && container.started === true && !isThrough) {
      const ready = container.ready === true ? 1 : 0
      all.ready += ready
      sidecars.ready += ready
    } else if (!isThrough) {
      result.held = terminated === undefined ? initWaiting(waiting) : terminatedText(terminated)
      break
    }
    result.passed += 1
  }
  return result
}

/** `PodInitializing` is not shown as a reason. */
function initWaiting(waiting: Unchecked<ContainerState>['waiting']): string {
  const { reason = '' } = waiting ?? {}
  return reason === 'PodInitializing' ? '' : reason
}

/** The status derived from the containers. Updates the tally. */
function summarizeContainers(status: Unchecked<PodStatus>, start: string, tally: Tally): string {
  const { containerStatuses = [], conditions } = status
  let text = start
  let failure = ''
  let isRunning = false
  // In reverse order, so that the first container with a reason takes precedence.
  for (let index = containerStatuses.length - 1; index >= 0; index -= 1) {
    const container = containerStatuses[index] ?? {}
    const { waiting, terminated, running } = container.state ?? {}
    addRestarts(tally, container)
    if (waiting?.reason) {
      text = waiting.reason
    } else if (terminated !== undefined) {
      text = terminatedText(terminated)
      if (exitCodeOf(terminated) !== 0) failure = text
    } else if (container.ready === true && running !== undefined) {
      isRunning = true
      tally.ready += 1
    }
  }
  // `Completed` is shown only if no container is running or failed.
  if (text !== 'Completed') return text
  if (isRunning && isTrue(conditions, 'Ready')) return 'Running'
  return failure || (isRunning ? 'NotReady' : text)
}

type Terminated = NonNullable<Unchecked<ContainerState>['terminated']>

function terminatedText(terminated: Terminated): string {
  if (terminated.reason) return terminated.reason
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${exitCodeOf(terminated)}`
}

function exitCodeOf({ exitCode = 0 }: Terminated): number {
  return exitCode
}

function addRestarts(tally: Tally, { restartCount = 0, lastState }: Unchecked<ContainerStatus>): void {
  tally.restarts += restartCount
  const { finishedAt = '' } = lastState?.terminated ?? {}
  // Timestamps have a uniform format, so they compare as text.
  if (finishedAt > tally.lastRestart) tally.lastRestart = finishedAt
}

/** The status from the pod's own reason or phase. */
function ownStatus({ phase = '', reason = '', conditions = [] }: Unchecked<PodStatus>): string {
  for (const condition of conditions) {
    if (condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated') return 'SchedulingGated'
  }
  return reason || phase
}

function whileDeleted({ metadata, status }: Unchecked<Pod>, text: string): string {
  if (metadata?.deletionTimestamp === undefined) return text
  if (status?.reason === 'NodeLost') return 'Unknown'
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? text : 'Terminating'
}
