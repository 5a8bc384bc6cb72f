/**
 * State of one pod in the container runtime. Plans are based on it and not on the kubelet's memory, so that
 * the kubelet can restart at any time.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { ContainerState, LinuxResources } from '#/cri/cri.ts'

/** Both lists are sorted newest first. */
export interface ObservedPod {
  readonly sandboxes: readonly ObservedSandbox[]
  readonly containers: readonly ObservedContainer[]
}

export interface ObservedSandbox {
  readonly id: string
  readonly attempt: number
  readonly isReady: boolean
  /** Empty with `hostNetwork`. */
  readonly addresses: readonly string[]
}

export interface ObservedContainer {
  readonly id: string
  readonly sandboxId: string
  readonly name: string
  /** Number of earlier containers of this name in the pod. */
  readonly attempt: number
  readonly state: ContainerState
  /** Hash of the container spec that it was created from. */
  readonly hash: string
  /** Wall time; 0 if not reached. */
  readonly startedMs: number
  readonly finishedMs: number
  readonly exitCode: number
  readonly reason: string
  /** The runtime's message and the termination message. */
  readonly message: string
  /** Image name as shown to users, and the runtime's image reference. */
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

/** Newest container of this name. */
export function latestOf({ containers }: ObservedPod, name: string): ObservedContainer | undefined {
  return containers.find(container => container.name === name)
}

/** Newest container of this name in the newest sandbox. */
export function latestInSandbox(observed: ObservedPod, name: string): ObservedContainer | undefined {
  const sandboxId = observed.sandboxes[0]?.id
  return observed.containers.find(container => container.name === name && container.sandboxId === sandboxId)
}

/** The sandbox in which the pod's containers can run; undefined if a new one is needed. */
export function usableSandbox(pod: Pod, { sandboxes }: ObservedPod): ObservedSandbox | undefined {
  const [newest] = sandboxes
  const ready = sandboxes.filter(({ isReady }) => isReady)
  if (newest === undefined || !newest.isReady || ready.length > 1) return undefined
  return pod.spec?.hostNetwork || newest.addresses.length > 0 ? newest : undefined
}
