/**
 * The kubelet's state as read by its HTTP server: the node's pods and their containers. Implemented by
 * `kubelet.ts`; read-only.
 */
import type { KubeletPod } from './kubelet-pod.ts'
import type { VolumeUsage } from './volumes.ts'

export interface KubeletView {
  /** All pods assigned to the node or still running there, with the kubelet's latest status. */
  pods(): readonly KubeletPod[]
  /**
   * By name. For a static pod, returns the pod and not its mirror: its UID is the one in the runtime, and its
   * status the one of the mirror.
   */
  pod(namespace: string, name: string): KubeletPod | undefined
  /** Runtime id of the running container with this name. */
  containerId(uid: string, container: string): string | undefined
  /** Runtime id of the ready sandbox. */
  sandboxId(uid: string): string | undefined
  /** False if the pod's sandbox does not respond; it is killed and recovered then. */
  isSandboxResponding(uid: string): Promise<boolean>
  /**
   * Calls back when the pod's containers may have changed, until the returned function is called. It carries
   * no state.
   */
  onPodChange(uid: string, callback: () => void): () => void
  /** Usage of the persistent volumes of all pods. It may visit all files of a volume, so it is slow. */
  claimUsage(): Promise<readonly VolumeUsage[]>
  /** Why the kubelet is unhealthy, for health checks. */
  problem(): string | undefined
}
