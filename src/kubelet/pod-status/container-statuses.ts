import type {
  Container,
  ContainerState,
  ContainerStatus,
  PodStatus,
  VolumeMountStatus,
} from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import { reportedResources } from '../container-resize.ts'
import { latestOf, type ObservedContainer, type ObservedPod } from '../observed-pod.ts'
import { containersOf, isSidecar, shouldRestart, type ContainerKind } from '../pod-containers.ts'
import type { StatusInput } from '../pod-status.ts'

export type ContainerStatuses = Pick<
  PodStatus,
  'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses'
>

/** Exit code if the exit was not observed: the container was possibly killed. */
export const unknownExitCode = 137

/** Limit for all containers of a pod together. */
const messageBytesMax = 12 * 1024

/** Sorted by name; init containers in the order of the spec. */
export function containerStatuses(input: StatusInput): ContainerStatuses {
  const { previous } = input
  const init = statusesOf(input, 'init', previous.initContainerStatuses)
  const regular = statusesOf(input, 'regular', previous.containerStatuses)
  const ephemeral = statusesOf(input, 'ephemeral', previous.ephemeralContainerStatuses)
  return {
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: sorted(regular),
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: sorted(ephemeral) }),
  }
}

function sorted(statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  return statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function statusesOf(
  input: StatusInput,
  kind: ContainerKind,
  before: readonly ContainerStatus[] = [],
): readonly ContainerStatus[] {
  return containersOf(input.pod)
    .filter(each => each.kind === kind)
    .map(({ container }) => {
      const old = before.find(({ name }) => name === container.name)
      const status = withReason(
        input,
        { kind, container },
        containerStatusOf(input, { kind, container, old }),
      )
      return withReadiness(input, { kind, container, status, old })
    })
}

interface ContainerContext {
  readonly kind: ContainerKind
  readonly container: Container
  readonly old: ContainerStatus | undefined
}

function containerStatusOf(input: StatusInput, context: ContainerContext): ContainerStatus {
  const { observed } = input
  const { container, old } = context
  const own = observed.containers.filter(({ name }) => name === container.name)
  const [latest, earlier] = own
  // A container is reported as running only after its postStart hook. A container in state `created` is
  // ignored.
  const hasStarted = latest !== undefined && latest.state !== 'created' && !isStarting(input, latest)
  if (!hasStarted) return absentStatus(input, context, latest === undefined ? undefined : earlier)
  const lastState =
    earlier?.state === 'exited'
      ? terminatedState(input, earlier)
      : old?.state?.terminated && old.containerID !== idOf(input, latest)
        ? { terminated: old.state.terminated }
        : old?.lastState
  return {
    name: container.name,
    image: latest.image,
    imageID: latest.imageRef,
    containerID: idOf(input, latest),
    restartCount: Math.max(latest.attempt, old?.restartCount ?? 0),
    ready: false,
    state: stateOf(input, latest, old),
    ...(lastState && { lastState }),
    ...volumeMounts(container),
    ...resources(input, container, latest),
    ...userOf(latest),
  }
}

function userOf({ user }: ObservedContainer): Pick<ContainerStatus, 'user'> {
  if (user === undefined) return {}
  const { uid, gid, supplementalGroups } = user
  return { user: { linux: { uid, gid, ...(supplementalGroups.length > 0 && { supplementalGroups }) } } }
}

function isStarting({ starting }: StatusInput, { name, state }: ObservedContainer): boolean {
  return starting.has(name) && state !== 'exited'
}

/** A reported termination is kept: the termination message may no longer be available. */
function stateOf(
  input: StatusInput,
  latest: ObservedContainer,
  old: ContainerStatus | undefined,
): ContainerState {
  const said = old?.state?.terminated
  if (latest.state === 'exited' && said?.containerID === idOf(input, latest)) return { terminated: said }
  switch (latest.state) {
    case 'running':
      return { running: { startedAt: formatTime(latest.startedMs) } }
    case 'exited':
      return terminatedState(input, latest)
    case 'created':
    case 'unknown':
      return {
        terminated: {
          exitCode: unknownExitCode,
          reason: 'ContainerStatusUnknown',
          message: 'The container could not be located when the pod was terminated',
        },
      }
  }
}

function terminatedState(input: StatusInput, container: ObservedContainer): ContainerState {
  const { exitCode, message, startedMs, finishedMs } = container
  const shown = cut(message, Math.floor(messageBytesMax / containersOf(input.pod).length))
  const reason = container.reason || (exitCode === 0 ? 'Completed' : 'Error')
  return {
    terminated: {
      exitCode,
      reason,
      ...(shown && { message: shown }),
      startedAt: formatTime(startedMs),
      finishedAt: formatTime(finishedMs),
      containerID: idOf(input, container),
    },
  }
}

function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  return bytes.length <= bytesMax
    ? text
    : bytes
        .subarray(0, bytesMax)
        .toString()
        .replace(/\uFFFD+$/, '')
}

/** The container does not exist in the runtime, has not started yet, or has been removed. */
function absentStatus(
  input: StatusInput,
  { kind, container, old }: ContainerContext,
  earlier: ObservedContainer | undefined,
): ContainerStatus {
  const isInitialized = kind === 'init' && hasBegun(input.observed, input)
  const base: ContainerStatus = {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    restartCount: old?.restartCount ?? 0,
    ready: false,
    state: { waiting: { reason: waitingReason(input) } },
    ...(old?.lastState && { lastState: old.lastState }),
    ...volumeMounts(container),
  }
  if (earlier?.state === 'exited') return { ...base, lastState: terminatedState(input, earlier) }
  if (old?.state?.terminated) return old
  if (isInitialized && !isSidecar(container)) return { ...base, state: forgottenInit }
  if (!old?.state?.running || old.lastState?.terminated) return base
  const isDeleted = input.pod.metadata.deletionTimestamp !== undefined
  return {
    ...base,
    restartCount: old.restartCount + (isDeleted ? 0 : 1),
    lastState: {
      terminated: {
        exitCode: unknownExitCode,
        reason: 'ContainerStatusUnknown',
        message:
          'The container could not be located when the pod was deleted.  The container used to be Running',
      },
    },
  }
}

const forgottenInit: ContainerState = {
  terminated: {
    exitCode: 0,
    reason: 'Completed',
    message:
      'Unable to get init container status from container runtime and pod has been initialized, ' +
      'treat it as exited normally',
  },
}

function hasBegun(observed: ObservedPod, { pod }: StatusInput): boolean {
  return (pod.spec?.containers ?? []).some(({ name }) => latestOf(observed, name) !== undefined)
}

function waitingReason({ pod }: StatusInput): string {
  return pod.spec?.initContainers?.length ? 'PodInitializing' : 'ContainerCreating'
}

/** A container waiting for its restart is reported as waiting, with its termination as the last state. */
function withReason(
  { pod, waiting }: StatusInput,
  { kind, container }: Omit<ContainerContext, 'old'>,
  status: ContainerStatus,
): ContainerStatus {
  const why = waiting.get(container.name)
  const { terminated, running } = status.state ?? {}
  if (why === undefined || running) return status
  const isOver =
    pod.metadata.deletionTimestamp !== undefined ||
    kind === 'ephemeral' ||
    (kind === 'init' && terminated?.exitCode === 0 && !isSidecar(container)) ||
    (terminated !== undefined && !shouldRestart(pod, container, terminated.exitCode))
  if (terminated && isOver) return status
  return { ...status, state: { waiting: why }, ...(terminated && { lastState: { terminated } }) }
}

interface ReadinessInput extends ContainerContext {
  readonly status: ContainerStatus
}

/** Until a probe has a result, the previous values of the same container are kept. */
function withReadiness(
  input: StatusInput,
  { kind, container, status, old }: ReadinessInput,
): ContainerStatus {
  if (kind === 'ephemeral') return status
  const { terminated, running } = status.state ?? {}
  if (kind === 'init' && !isSidecar(container)) {
    return { ...status, started: running !== undefined, ready: terminated?.exitCode === 0 }
  }
  if (running === undefined) return { ...status, started: false, ready: false }
  const results = input.probes(runtimeIdOf(status))
  const before = old?.containerID === status.containerID ? old : undefined
  const started =
    !container.startupProbe || (results.startup ? results.startup === 'success' : !!before?.started)
  const isReady =
    !container.readinessProbe || (results.readiness ? results.readiness === 'success' : !!before?.ready)
  return { ...status, started, ready: started && isReady }
}

function idOf({ runtimeName }: StatusInput, { id }: ObservedContainer): string {
  return `${runtimeName}://${id}`
}

function runtimeIdOf({ containerID = '' }: ContainerStatus): string {
  return containerID.slice(containerID.indexOf('://') + 3)
}

function volumeMounts({ volumeMounts: mounts = [] }: Container): Pick<ContainerStatus, 'volumeMounts'> {
  if (mounts.length === 0) return {}
  const shown = mounts.map(({ name, mountPath, readOnly }): VolumeMountStatus => {
    return { name, mountPath, ...(readOnly && { readOnly, recursiveReadOnly: 'Disabled' }) }
  })
  return { volumeMounts: shown }
}

/** Applied and allocated resources. */
function resources(
  { actuatedResources, previous }: StatusInput,
  container: Container,
  { id }: ObservedContainer,
): Pick<ContainerStatus, 'resources' | 'allocatedResources'> {
  const { requests } = container.resources ?? {}
  const has = actuatedResources.get(id) ?? reportedResources(previous, id) ?? container.resources ?? {}
  return { resources: has, ...(requests && { allocatedResources: requests }) }
}
