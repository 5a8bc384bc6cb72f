/**
 * Who makes volumes for claims, within the program. Classes that name a provisioner which is not among those given to
 * the controllers are left to external ones, such as CSI drivers.
 * https://kubernetes.io/docs/concepts/storage/dynamic-provisioning/
 */
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'

export interface Provisioner {
  /** As storage classes name it: `k8ts.io/host-path`. */
  readonly name: string
  readonly supportsMountOptions: boolean
  /**
   * Makes the storage, and says what the volume is like. Asked twice for one volume it makes one. Throws when it
   * cannot: the message is for whoever wants the claim.
   */
  provision(request: ProvisionRequest): Promise<ProvisionedVolume>
  /** Destroys the storage; there may be none any more. Throws when it cannot. */
  delete(volume: PersistentVolume): Promise<void>
  /** Makes the storage at least so large, and says how large it is. Without it volumes keep their size. */
  expand?(volume: PersistentVolume, size: string): Promise<string>
}

export interface ProvisionRequest {
  readonly volumeName: string
  readonly claim: PersistentVolumeClaim
  readonly storageClass: StorageClass
  /** Where the first pod that uses the claim will run; the class says whether anybody waits for that. */
  readonly selectedNode: Node | undefined
}

/** What the controller does not know by itself. */
export interface ProvisionedVolume {
  readonly spec: NonNullable<PersistentVolume['spec']>
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}
