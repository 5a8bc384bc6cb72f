import type { PersistentVolumeSpec, Volume } from '#/api/generated/core/v1.ts'
import { formatGoValue } from '#/api/text/quote.ts'
import type { CellValue } from '../describe-writer.ts'
import { cutBytes, lineBytesMax, mapLines } from './metadata.ts'

/** Label and value. kubectl writes two labels without their colon. */
export type SourceRow = readonly [label: string, value: CellValue]

/** Pods refer to secrets of their namespace, volumes to secrets of any. */
type ReferenceKind = 'LocalObjectReference' | 'SecretReference'

/** The volume sources that pods and persistent volumes share; undefined if it is none of them. */
export function sharedSource(
  source: Volume | PersistentVolumeSpec,
  referenceKind: ReferenceKind,
): readonly SourceRow[] | undefined {
  return (
    networkSource(source, referenceKind) ?? distributedSource(source, referenceKind) ?? diskSource(source)
  )
}

/** Long attributes are cut. Each has the margin of its label. */
export function csiAttributeLines(attributes: StringMap | undefined): string[] {
  return mapLines(attributes).map(line => `    ${cutBytes(line, lineBytesMax)}`)
}

type StringMap = Readonly<Record<string, string>>

interface Reference {
  readonly name?: string
  readonly namespace?: string
}

function referenceText(reference: Reference | undefined, kind: ReferenceKind): string {
  if (!reference) return 'nil'
  const { name = '', namespace = '' } = reference
  return `&${kind}{Name:${name},${kind === 'SecretReference' ? `Namespace:${namespace},` : ''}}`
}

/** File systems and devices of the network that have secrets. */
function networkSource(
  { cephfs, iscsi, rbd }: Volume | PersistentVolumeSpec,
  referenceKind: ReferenceKind,
): readonly SourceRow[] | undefined {
  if (iscsi) {
    return [
      ['Type:', iscsiType],
      ['TargetPortal:', iscsi.targetPortal],
      ['IQN:', iscsi.iqn],
      ['Lun:', iscsi.lun],
      ['ISCSIInterface', iscsi.iscsiInterface ?? ''],
      ['FSType:', iscsi.fsType ?? ''],
      ['ReadOnly:', iscsi.readOnly ?? false],
      ['Portals:', formatGoValue(iscsi.portals ?? [])],
      ['DiscoveryCHAPAuth:', iscsi.chapAuthDiscovery ?? false],
      ['SessionCHAPAuth:', iscsi.chapAuthSession ?? false],
      ['SecretRef:', referenceText(iscsi.secretRef, referenceKind)],
      ['InitiatorName:', iscsi.initiatorName ?? '<none>'],
    ]
  }
  if (rbd) {
    return [
      ['Type:', "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)"],
      ['CephMonitors:', formatGoValue(rbd.monitors)],
      ['RBDImage:', rbd.image],
      ['FSType:', rbd.fsType ?? ''],
      ['RBDPool:', rbd.pool ?? ''],
      ['RadosUser:', rbd.user ?? ''],
      ['Keyring:', rbd.keyring ?? ''],
      ['SecretRef:', referenceText(rbd.secretRef, referenceKind)],
      ['ReadOnly:', rbd.readOnly ?? false],
    ]
  }
  if (cephfs) {
    return [
      ['Type:', "CephFS (a CephFS mount on the host that shares a pod's lifetime)"],
      ['Monitors:', formatGoValue(cephfs.monitors)],
      ['Path:', cephfs.path ?? ''],
      ['User:', cephfs.user ?? ''],
      ['SecretFile:', cephfs.secretFile ?? ''],
      ['SecretRef:', referenceText(cephfs.secretRef, referenceKind)],
      ['ReadOnly:', cephfs.readOnly ?? false],
    ]
  }
  return undefined
}

const iscsiType =
  "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)"

/** Other sources of several hosts. */
function distributedSource(
  { cinder, flexVolume, nfs, quobyte, storageos }: Volume | PersistentVolumeSpec,
  referenceKind: ReferenceKind,
): readonly SourceRow[] | undefined {
  if (nfs) {
    return [
      ['Type:', 'NFS (an NFS mount that lasts the lifetime of a pod)'],
      ['Server:', nfs.server],
      ['Path:', nfs.path],
      ['ReadOnly:', nfs.readOnly ?? false],
    ]
  }
  if (quobyte) {
    return [
      ['Type:', "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)"],
      ['Registry:', quobyte.registry],
      ['Volume:', quobyte.volume],
      ['ReadOnly:', quobyte.readOnly ?? false],
    ]
  }
  if (cinder) {
    return [
      ['Type:', 'Cinder (a Persistent Disk resource in OpenStack)'],
      ['VolumeID:', cinder.volumeID],
      ['FSType:', cinder.fsType ?? ''],
      ['ReadOnly:', cinder.readOnly ?? false],
      ['SecretRef:', referenceText(cinder.secretRef, referenceKind)],
    ]
  }
  if (flexVolume) {
    return [
      [
        'Type:',
        'FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)',
      ],
      ['Driver:', flexVolume.driver],
      ['FSType:', flexVolume.fsType ?? ''],
      ['SecretRef:', referenceText(flexVolume.secretRef, referenceKind)],
      ['ReadOnly:', flexVolume.readOnly ?? false],
      ['Options:', formatGoValue(flexVolume.options ?? {})],
    ]
  }
  if (storageos) {
    return [
      ['Type:', 'StorageOS (a StorageOS Persistent Disk resource)'],
      ['VolumeName:', storageos.volumeName ?? ''],
      ['VolumeNamespace:', storageos.volumeNamespace ?? ''],
      ['FSType:', storageos.fsType ?? ''],
      ['ReadOnly:', storageos.readOnly ?? false],
    ]
  }
  return undefined
}

/** Disks and directories. */
function diskSource(source: Volume | PersistentVolumeSpec): readonly SourceRow[] | undefined {
  const { fc, flocker, hostPath, portworxVolume } = source
  if (hostPath) {
    return [
      ['Type:', 'HostPath (bare host directory volume)'],
      ['Path:', hostPath.path],
      ['HostPathType:', hostPath.type ?? '<none>'],
    ]
  }
  if (fc) {
    return [
      ['Type:', 'FC (a Fibre Channel disk)'],
      ['TargetWWNs:', (fc.targetWWNs ?? []).join(', ')],
      ['LUN:', fc.lun ?? '<none>'],
      ['FSType:', fc.fsType ?? ''],
      ['ReadOnly:', fc.readOnly ?? false],
    ]
  }
  if (flocker) {
    return [
      ['Type:', 'Flocker (a Flocker volume mounted by the Flocker agent)'],
      ['DatasetName:', flocker.datasetName ?? ''],
      ['DatasetUUID:', flocker.datasetUUID ?? ''],
    ]
  }
  if (portworxVolume) {
    return [
      ['Type:', 'PortworxVolume (a Portworx Volume resource)'],
      ['VolumeID:', portworxVolume.volumeID],
    ]
  }
  return cloudDisk(source)
}

function cloudDisk(source: Volume | PersistentVolumeSpec): readonly SourceRow[] | undefined {
  const { awsElasticBlockStore: aws, azureDisk, gcePersistentDisk: gce } = source
  const { photonPersistentDisk: photon, vsphereVolume: vsphere } = source
  if (gce) {
    return [
      ['Type:', 'GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)'],
      ['PDName:', gce.pdName],
      ['FSType:', gce.fsType ?? ''],
      ['Partition:', gce.partition ?? 0],
      ['ReadOnly:', gce.readOnly ?? false],
    ]
  }
  if (aws) {
    return [
      ['Type:', 'AWSElasticBlockStore (a Persistent Disk resource in AWS)'],
      ['VolumeID:', aws.volumeID],
      ['FSType:', aws.fsType ?? ''],
      ['Partition:', aws.partition ?? 0],
      ['ReadOnly:', aws.readOnly ?? false],
    ]
  }
  if (azureDisk) {
    return [
      ['Type:', 'AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)'],
      ['DiskName:', azureDisk.diskName],
      ['DiskURI:', azureDisk.diskURI],
      ['Kind: ', azureDisk.kind ?? ''],
      ['FSType:', azureDisk.fsType ?? ''],
      ['CachingMode:', azureDisk.cachingMode ?? ''],
      ['ReadOnly:', azureDisk.readOnly ?? false],
    ]
  }
  if (vsphere) {
    return [
      ['Type:', 'vSphereVolume (a Persistent Disk resource in vSphere)'],
      ['VolumePath:', vsphere.volumePath],
      ['FSType:', vsphere.fsType ?? ''],
      ['StoragePolicyName:', vsphere.storagePolicyName ?? ''],
    ]
  }
  if (photon) {
    return [
      ['Type:', 'PhotonPersistentDisk (a Persistent Disk resource in photon platform)'],
      ['PdID:', photon.pdID],
      ['FSType:', photon.fsType ?? ''],
    ]
  }
  return undefined
}
