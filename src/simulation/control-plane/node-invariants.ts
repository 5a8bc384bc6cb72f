import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { isPodTerminal } from '#/controllers/pods.ts'
import type { InspectedSandbox, SimulatedRuntime } from '#/cri/simulated.ts'
import type { Changed } from './world.ts'

/** Checks that a pod never has two running sandboxes, or two running containers of one name. */
export function checkPodInRuntime(runtime: SimulatedRuntime, podUid: string): readonly string[] {
  const sandboxes = runtime.inspect({ podUid })
  const ready = sandboxes.filter(({ state }) => state === 'ready')
  const running = runningIn(sandboxes).map(({ name }) => name)
  const twice = running.filter((name, index) => running.indexOf(name) !== index)
  return [
    ...(ready.length > 1 ? [`pod ${podUid} has ${ready.length} running sandboxes`] : []),
    ...twice.map(name => `pod ${podUid} has two running containers ${name}`),
  ]
}

/** Checks that restart counts never decrease and that a terminal phase is final. */
export function checkPodStatusOrder({ resourcePrefix, before, after }: Changed): readonly string[] {
  if (resourcePrefix !== 'pods' || before === undefined || after === undefined) return []
  if (before.metadata.uid !== after.metadata.uid) return []
  const [old, now] = [before.status ?? {}, after.status ?? {}]
  const statuses = now.containerStatuses ?? []
  return [
    ...(isPodTerminal(before) && old.phase !== now.phase
      ? [`pod ${keyOf(after)} goes from ${old.phase} to ${now.phase}`]
      : []),
    ...(old.containerStatuses ?? []).flatMap(({ name, restartCount }) => {
      const next = statuses.find(status => status.name === name)?.restartCount ?? restartCount
      if (next >= restartCount) return []
      return [`restart count of ${name} of pod ${keyOf(after)} falls from ${restartCount} to ${next}`]
    }),
  ]
}

export interface SettledNode {
  readonly name: string
  readonly runtime: SimulatedRuntime
}

/**
 * Checks that the settled runtime runs exactly the pods that are bound to the node and have not finished, and
 * that the API shows its state.
 */
export function checkSettledNode(
  { name, runtime }: SettledNode,
  pods: readonly Stored<Pod>[],
): readonly string[] {
  const own = pods.filter(({ spec }) => spec?.nodeName === name)
  const sandboxes = runtime.inspect()
  return [
    ...sandboxes
      .filter(({ metadata }) => !own.some(pod => pod.metadata.uid === metadata.uid))
      .map(({ metadata }) => `${name} has a sandbox of pod ${metadata.name}, which is not bound to it`),
    ...own.flatMap(pod => {
      const ofPod = sandboxes.filter(({ metadata }) => metadata.uid === pod.metadata.uid)
      const found = isPodTerminal(pod) ? checkFinished(ofPod) : checkRunning(pod, ofPod)
      return found.map(text => `${name}: pod ${keyOf(pod)} ${text}`)
    }),
  ]
}

function checkFinished(sandboxes: readonly InspectedSandbox[]): readonly string[] {
  const isReady = sandboxes.some(({ state }) => state === 'ready')
  return [
    ...(isReady ? ['has finished, but its sandbox is running'] : []),
    ...runningIn(sandboxes).map(container => `has finished, but its container ${container.name} is running`),
  ]
}

function checkRunning({ spec, status }: Pod, sandboxes: readonly InspectedSandbox[]): readonly string[] {
  const sandbox = sandboxes.find(({ state }) => state === 'ready')
  if (sandbox === undefined) return ['has no running sandbox']
  const [address] = sandbox.addresses
  return [
    ...(address === status?.podIP ? [] : [`has IP ${address}, but its status shows ${status?.podIP}`]),
    ...(spec?.containers ?? []).flatMap(({ name }) => {
      const shown = status?.containerStatuses?.find(container => container.name === name)
      const running = runningIn(sandboxes).find(container => container.name === name)
      const [is, shows] = [running && `running as ${running.id}`, shown && showState(shown)]
      if (is === shows) return []
      return [`has container ${name} ${is ?? 'not running'}, but its status shows ${shows ?? 'not running'}`]
    }),
  ]
}

/** Undefined if it is not running. */
function showState({ state, containerID = '' }: ContainerStatus): string | undefined {
  return state?.running && `running as ${containerID.replace(/^.*:\/\//, '')}`
}

function runningIn(sandboxes: readonly InspectedSandbox[]): InspectedSandbox['containers'] {
  return sandboxes.flatMap(({ containers }) => containers.filter(({ state }) => state === 'running'))
}
