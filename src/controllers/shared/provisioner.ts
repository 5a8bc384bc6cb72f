/**
 * In-process volume provisioner. Storage classes with other provisioners are left to external ones, such as
 * CSI drivers.
 * https://kubernetes.io/docs/concepts/storage/dynamic-provisioning/
 */
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { Named, Stored } from '#/api/metadata.ts'

export interface Provisioner {
  /** The `provisioner` field of storage classes: `k8ts.io/host-path`. */
  readonly name: string
  readonly supportsMountOptions: boolean
  /**
   * Creates the storage and returns the volume's spec. Idempotent per volume name. Throws on failure; the
   * message is recorded as an event on the claim.
   */
  provision(request: ProvisionRequest): Promise<ProvisionedVolume>
  /** Deletes the storage; succeeds if it no longer exists. Throws on failure. */
  delete(volume: Named<PersistentVolume>): Promise<void>
  /**
   * Expands the storage to at least this size and returns its actual size. If not implemented, volumes cannot
   * be expanded.
   */
  expand?(volume: PersistentVolume, size: string): Promise<string>
}

export interface ProvisionRequest {
  readonly volumeName: string
  readonly claim: PersistentVolumeClaim
  readonly storageClass: StorageClass
  /** Node of the first pod that uses the claim; only set with volume binding mode WaitForFirstConsumer. */
  readonly selectedNode: Stored<Node> | undefined
}

/** The parts of the PersistentVolume that the provisioner determines. */
export interface ProvisionedVolume {
  readonly spec: NonNullable<PersistentVolume['spec']>
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}
