/**
 * Computes the actions for a pod from its spec and the observed state: sandboxes to create and remove,
 * containers to start, kill and remove. It is pure and stateless: called on each sync, it returns the same
 * plan until something changes. The caller skips actions already in progress.
 */
import type { PodStatus } from '#/api/generated/core/v1.ts'
import type { ActuatedResources } from './container-resize.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { ObservedPod } from './observed-pod.ts'
import { planTermination } from './plan-pod/plan-termination.ts'
import { planRunning } from './plan-pod/plan-running.ts'
import type { Restart } from './restart-backoff.ts'

export interface PodSyncInput {
  readonly pod: KubeletPod
  /** Last reported status; the API server's may be older. */
  readonly status: PodStatus
  readonly observed: ObservedPod
  readonly nowMs: number
  /** Set if the pod has to terminate regardless of its containers. */
  readonly termination?: Termination
  readonly areVolumesReady: boolean
  /** Sandboxes that were stopped and have no network anymore. */
  readonly stoppedSandboxes: ReadonlySet<string>
  /** Volumes and cgroups have been released. */
  readonly isReleased: boolean
  /** Names of containers that are being started. */
  readonly starting: ReadonlySet<string>
  readonly isCreatingSandbox: boolean
  /** Ids of containers that were killed to be restarted regardless of the restart policy. */
  readonly restarting: ReadonlySet<string>
  /** Ids of running containers that have to be killed, with the reason. */
  readonly toKill: ReadonlyMap<string, string>
  readonly actuatedResources: ActuatedResources
  readonly probes: (containerId: string) => ProbeResults
  /** By container name. */
  readonly restarts: ReadonlyMap<string, Restart>
  /** Earliest time of the next start attempt, by container name. */
  readonly retryAtMs: ReadonlyMap<string, number>
  readonly sandboxRetryAtMs: number
  readonly volumesRetryAtMs: number
}

export interface Termination {
  /** All remains of the pod are removed from the node as well. */
  readonly isRemoved: boolean
  /** Overrides the pod's grace period. */
  readonly graceSeconds?: number
  /** The exited containers and their logs are removed, because the node needs the space. */
  readonly removesContainers?: boolean
}

export interface ProbeResults {
  readonly startup?: ProbeResult
  readonly liveness?: ProbeResult
  readonly readiness?: ProbeResult
}

export type ProbeResult = 'success' | 'failure'

export interface PodPlan {
  readonly actions: readonly PodAction[]
  /** Waiting containers with reasons, except those that are about to start. */
  readonly waiting: ReadonlyMap<string, Waiting>
  /** `terminating`: the pod terminates and starts no containers. `terminated`: no container is running anymore. */
  readonly stage: 'running' | 'terminating' | 'terminated'
  /** Time of the next sync if nothing happens before. */
  readonly againAtMs?: number
}

export interface Waiting {
  readonly reason: string
  readonly message: string
}

export type PodAction =
  | { readonly type: 'prepare-volumes' }
  /** Pulls the image in parallel with sandbox creation. */
  | { readonly type: 'fetch-image'; readonly name: string }
  | { readonly type: 'create-sandbox'; readonly attempt: number; readonly isReplacement: boolean }
  | {
      readonly type: 'start-container'
      readonly name: string
      readonly sandboxId: string
      readonly attempt: number
      /** Backoff state to store, if this is a restart. */
      readonly restart?: Restart
    }
  | KillContainer
  /** Resizes running containers in place. */
  | { readonly type: 'resize-containers' }
  | {
      readonly type: 'remove-container'
      readonly id: string
      readonly name: string
      readonly attempt: number
    }
  | { readonly type: 'stop-sandbox'; readonly id: string }
  | { readonly type: 'remove-sandbox'; readonly id: string }
  /** No container is running: releases volumes and cgroups. */
  | { readonly type: 'release' }
  /** Everything is removed. */
  | { readonly type: 'finish' }

export interface KillContainer {
  readonly type: 'kill-container'
  readonly id: string
  readonly name: string
  /** Event message. */
  readonly message: string
  readonly graceSeconds: number
  /** Ids of containers that have to exit first, within the grace period. */
  readonly after: readonly string[]
  /** The container is restarted regardless of the restart policy. */
  readonly isRestarted: boolean
}

export function planPod(input: PodSyncInput): PodPlan {
  return input.termination === undefined ? planRunning(input) : planTermination(input)
}
