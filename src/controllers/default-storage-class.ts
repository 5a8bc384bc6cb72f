/**
 * A storage class that a new cluster begins with, so that claims which name none get a volume. It is made when there is
 * no class at all; whoever has removed it and made another keeps that.
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

/** The client must have the right to make storage classes, which no controller has. */
export async function ensureDefaultStorageClass(client: Client, signal?: AbortSignal): Promise<void> {
  const { items } = await client.list(storageClasses, { limit: 1, signal })
  if (items.length > 0) return
  try {
    await client.create(storageClasses, standard, { signal })
  } catch (error) {
    // Another server of the same cluster was faster.
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}
