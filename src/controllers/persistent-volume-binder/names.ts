/** Annotations and finalizers that the binder sets on claims and volumes. */

/** On a volume: its provisioner. */
export const provisionedBy = 'pv.kubernetes.io/provisioned-by'
/** On a volume: the CSI driver that replaces the in-tree plugin. */
export const migratedTo = 'pv.kubernetes.io/migrated-to'
/** On a claim: the provisioner that must create its volume. */
export const storageProvisioner = 'volume.kubernetes.io/storage-provisioner'
export const betaStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner'
/** On a volume: capacity before an expansion started. */
export const preResizeCapacity = 'volume.alpha.kubernetes.io/pre-resize-capacity'

/** Keeps a volume until its in-process provisioner has deleted the storage. */
export const deletionFinalizer = 'kubernetes.io/pv-controller'
