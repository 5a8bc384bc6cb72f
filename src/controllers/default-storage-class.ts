/**
 * Creates a default storage class in a new cluster, so that claims without `storageClassName` get a volume.
 * It is created only if no storage class exists, so an administrator's choice is never overwritten.
 */
import { isApiError } from '#/api/errors.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { Client } from '#/client/client.ts'
import { hostPathProvisionerName } from './host-path-provisioner.ts'

const standard: StorageClass = {
  metadata: {
    name: 'standard',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner: hostPathProvisionerName,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
}

/** Requires a client that may create storage classes; no controller's service account may. */
export async function ensureDefaultStorageClass(client: Client, signal?: AbortSignal): Promise<void> {
  const { items } = await client.list(storageClasses, { limit: 1, signal })
  if (items.length > 0) return
  try {
    await client.create(storageClasses, standard, { signal })
  } catch (error) {
    // Another API server of the cluster created it first.
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}
