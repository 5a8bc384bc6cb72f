/**
 * What the kubelet's server sees of the kubelet: which pods the node has and what runs for them. `kubelet.ts` provides
 * it; nothing here changes anything.
 */
import type { Pod } from '#/api/generated/core/v1.ts'

export interface KubeletView {
  /** Every pod that the node is to run or still runs, with the newest status that the kubelet knows. */
  pods(): readonly Pod[]
  /**
   * By name. Of a static pod it is the pod itself and not its mirror: its uid is the one that the runtime knows, its
   * status the one that the mirror shows.
   */
  pod(namespace: string, name: string): Pod | undefined
  /** The runtime's id of the container that runs under this name now. */
  containerId(uid: string, container: string): string | undefined
  /** The runtime's id of the sandbox that is ready. */
  sandboxId(uid: string): string | undefined
  /**
   * Calls back whenever something may have happened to the pod's containers, until the function that it returns is
   * called. It only says when to look.
   */
  onPodChange(uid: string, callback: () => void): () => void
  /** Why the kubelet does not do its work, for those who ask whether it is well. */
  problem(): string | undefined
}
