/**
 * What is to be done for a pod now, by what its spec asks for and what the runtime shows: sandboxes to make and to take
 * down, containers to start, to kill and to remove. Pure and without memory: it is asked again whenever something
 * happened, and says the same as long as nothing has. Whoever performs the actions leaves out those under way already.
 */
import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import type { GivenResources } from './container-resize.ts'
import type { ObservedPod } from './observed-pod.ts'
import { planEnding } from './plan-pod/plan-ending.ts'
import { planRunning } from './plan-pod/plan-running.ts'
import type { Restart } from './restart-backoff.ts'

export interface PodWorld {
  readonly pod: Pod
  /** As it was said last; what the API server has may be older. */
  readonly status: PodStatus
  readonly observed: ObservedPod
  readonly nowMs: number
  /** The pod must end, whatever its containers do. */
  readonly ending?: Ending
  readonly areVolumesReady: boolean
  /** Sandboxes that were stopped, and have no network any more. */
  readonly stoppedSandboxes: ReadonlySet<string>
  /** Volumes and control groups were given back. */
  readonly isReleased: boolean
  /** Names of containers that are being started. */
  readonly starting: ReadonlySet<string>
  readonly isMakingSandbox: boolean
  /** Ids of containers that were killed to be started again, whatever the restart policy says. */
  readonly restarting: ReadonlySet<string>
  /** Ids of containers that run and must not, and why. */
  readonly condemned: ReadonlyMap<string, string>
  readonly given: GivenResources
  readonly probes: (containerId: string) => ProbeResults
  /** By name of the container. */
  readonly restarts: ReadonlyMap<string, Restart>
  /** What failed is not tried again before: containers, by name. */
  readonly retryAtMs: ReadonlyMap<string, number>
  readonly sandboxRetryAtMs: number
  readonly volumesRetryAtMs: number
}

export interface Ending {
  /** It goes from the node too, with all that is left of it. */
  readonly isRemoved: boolean
  /** In place of what the pod says. */
  readonly graceSeconds?: number
}

export interface ProbeResults {
  readonly startup?: ProbeResult
  readonly liveness?: ProbeResult
  readonly readiness?: ProbeResult
}

export type ProbeResult = 'success' | 'failure'

export interface PodPlan {
  readonly actions: readonly PodAction[]
  /** Containers that wait, and why; those that just are to be started are not among them. */
  readonly waiting: ReadonlyMap<string, Waiting>
  /** The pod ends: nothing of it will run any more. It is `ended` when nothing runs. */
  readonly stage: 'running' | 'ending' | 'ended'
  /** When to look again although nothing has happened. */
  readonly againAtMs?: number
}

export interface Waiting {
  readonly reason: string
  readonly message: string
}

export type PodAction =
  | { readonly type: 'prepare-volumes' }
  /** So that it is there when the sandbox is. */
  | { readonly type: 'fetch-image'; readonly name: string }
  | { readonly type: 'create-sandbox'; readonly attempt: number; readonly isReplacement: boolean }
  | {
      readonly type: 'start-container'
      readonly name: string
      readonly sandboxId: string
      readonly attempt: number
      /** To be remembered when it is another start of a container that has ended. */
      readonly restart?: Restart
    }
  | KillContainer
  /** Those that are to have other resources than they were given. */
  | { readonly type: 'resize-containers' }
  | {
      readonly type: 'remove-container'
      readonly id: string
      readonly name: string
      readonly attempt: number
    }
  | { readonly type: 'stop-sandbox'; readonly id: string }
  | { readonly type: 'remove-sandbox'; readonly id: string }
  /** Nothing runs any more: volumes and control groups go. */
  | { readonly type: 'release' }
  /** Nothing is left. */
  | { readonly type: 'finish' }

export interface KillContainer {
  readonly type: 'kill-container'
  readonly id: string
  readonly name: string
  /** Why, for people. */
  readonly message: string
  readonly graceSeconds: number
  /** Ids of containers that have to be gone first, as long as there is time. */
  readonly after: readonly string[]
  /** Another one is to take its place, whatever the restart policy says. */
  readonly isRestarted: boolean
}

export function planPod(world: PodWorld): PodPlan {
  return world.ending === undefined ? planRunning(world) : planEnding(world)
}
