/** What the binder writes on claims and volumes, so that it and others know what was done. */

/** On a volume: who made it. */
export const provisionedBy = 'pv.kubernetes.io/provisioned-by'
/** On a volume: which driver has taken over from the code that made it. */
export const migratedTo = 'pv.kubernetes.io/migrated-to'
/** On a claim: who is to make its volume. */
export const storageProvisioner = 'volume.kubernetes.io/storage-provisioner'
export const betaStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner'
/** On a volume: how large it was before somebody began to expand it. */
export const preResizeCapacity = 'volume.alpha.kubernetes.io/pre-resize-capacity'

/** Keeps a volume that was made in here until its storage is gone. */
export const deletionFinalizer = 'kubernetes.io/pv-controller'
