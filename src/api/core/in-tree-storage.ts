/** Former in-tree volume plugins and the CSI drivers they were migrated to. */
import type { PersistentVolumeSpec, Volume } from '../generated/core/v1.ts'

/** CSI driver names by in-tree plugin name. */
export const csiDriverByInTreePlugin: ReadonlyMap<string, string> = new Map([
  ['kubernetes.io/aws-ebs', 'ebs.csi.aws.com'],
  ['kubernetes.io/gce-pd', 'pd.csi.storage.gke.io'],
  ['kubernetes.io/cinder', 'cinder.csi.openstack.org'],
  ['kubernetes.io/azure-disk', 'disk.csi.azure.com'],
  ['kubernetes.io/azure-file', 'file.csi.azure.com'],
  ['kubernetes.io/vsphere-volume', 'csi.vsphere.vmware.com'],
  ['kubernetes.io/portworx-volume', 'pxd.portworx.com'],
])

/** A disk referenced by an in-tree volume source of a pod or PersistentVolume. */
export interface InTreeVolume {
  readonly plugin: string
  readonly id: string
}

export function inTreeVolumeOf(source: PersistentVolumeSpec | Volume): InTreeVolume | undefined {
  const { awsElasticBlockStore, gcePersistentDisk, cinder, azureDisk, portworxVolume } = source
  if (awsElasticBlockStore) return { plugin: 'kubernetes.io/aws-ebs', id: awsElasticBlockStore.volumeID }
  if (gcePersistentDisk) return { plugin: 'kubernetes.io/gce-pd', id: gcePersistentDisk.pdName }
  if (cinder) return { plugin: 'kubernetes.io/cinder', id: cinder.volumeID }
  if (azureDisk) return { plugin: 'kubernetes.io/azure-disk', id: azureDisk.diskURI }
  if (portworxVolume) return { plugin: 'kubernetes.io/portworx-volume', id: portworxVolume.volumeID }
  return undefined
}
