/**
 * What a container runtime shows of one pod. This, and not what the kubelet remembers, decides what is done next: so it
 * may stop and start at any moment.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { ContainerState, LinuxResources } from '#/cri/cri.ts'

/** Both lists have the newest first. */
export interface ObservedPod {
  readonly sandboxes: readonly ObservedSandbox[]
  readonly containers: readonly ObservedContainer[]
}

export interface ObservedSandbox {
  readonly id: string
  readonly attempt: number
  readonly isReady: boolean
  /** Empty on the node's network. */
  readonly addresses: readonly string[]
}

export interface ObservedContainer {
  readonly id: string
  readonly sandboxId: string
  readonly name: string
  /** How many containers of this name the pod had before. */
  readonly attempt: number
  readonly state: ContainerState
  /** Of the spec that it was made from. */
  readonly hash: string
  /** Of wall time; 0 when it has not come to that. */
  readonly startedMs: number
  readonly finishedMs: number
  readonly exitCode: number
  readonly reason: string
  /** What the runtime says of its end, and what itself has said last. */
  readonly message: string
  /** As people know it, and as the runtime identifies it. */
  readonly image: string
  readonly imageRef: string
  readonly resources?: LinuxResources
  readonly user?: {
    readonly uid: number
    readonly gid: number
    readonly supplementalGroups: readonly number[]
  }
}

export const nothingObserved: ObservedPod = { sandboxes: [], containers: [] }

/** The newest container of this name. */
export function latestOf({ containers }: ObservedPod, name: string): ObservedContainer | undefined {
  return containers.find(container => container.name === name)
}

/** Of the newest sandbox only. */
export function latestInSandbox(observed: ObservedPod, name: string): ObservedContainer | undefined {
  const sandboxId = observed.sandboxes[0]?.id
  return observed.containers.find(container => container.name === name && container.sandboxId === sandboxId)
}

/** The sandbox that the pod's containers may run in; undefined when it needs a new one. */
export function usableSandbox(pod: Pod, { sandboxes }: ObservedPod): ObservedSandbox | undefined {
  const [newest] = sandboxes
  const ready = sandboxes.filter(({ isReady }) => isReady)
  if (newest === undefined || !newest.isReady || ready.length > 1) return undefined
  return pod.spec?.hostNetwork || newest.addresses.length > 0 ? newest : undefined
}
