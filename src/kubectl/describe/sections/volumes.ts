import type {
  DownwardAPIVolumeSource,
  EmptyDirVolumeSource,
  EphemeralVolumeSource,
  ProjectedVolumeSource,
  Volume,
} from '#/api/generated/core/v1.ts'
import { quantityOf } from '#/api/core/resource-amounts.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { describeClaim } from './claim.ts'
import { csiAttributeLines, sharedSource, type SourceRow } from './volume-sources.ts'

/** The margin is that of the label; a pod template has two spaces, and its volumes one more than those of a pod. */
export function describeVolumes(
  writer: DescribeWriter,
  volumes: readonly Volume[] = [],
  margin: '' | '  ',
): void {
  if (volumes.length === 0) return writer.fields(0, [[`${margin}Volumes`, '<none>']])
  writer.write(0, `${margin}Volumes:\n`)
  for (const volume of volumes) {
    writer.write(1, `${margin === '' ? '' : ' '}${volume.name}:\n`)
    describeSource(writer, volume)
  }
}

function describeSource(writer: DescribeWriter, volume: Volume): void {
  const { downwardAPI, ephemeral, csi } = volume
  const rows = podSource(volume) ?? sharedSource(volume, 'LocalObjectReference')
  if (!rows) return writer.write(1, '<unknown>\n')
  writer.rows(2, rows)
  if (downwardAPI) describeDownwardItems(writer, downwardAPI)
  if (ephemeral) describeClaimTemplate(writer, ephemeral)
  if (csi) writer.list(2, 'VolumeAttributes', csiAttributeLines(csi.volumeAttributes))
}

/** The sources that only pods have, or that have fewer fields in pods. */
function podSource(volume: Volume): readonly SourceRow[] | undefined {
  const { azureFile, csi, downwardAPI, ephemeral, gitRepo, glusterfs, scaleIO } = volume
  if (downwardAPI) return [['Type:', 'DownwardAPI (a volume populated by information about the pod)']]
  if (ephemeral) return [['Type:', ephemeralType]]
  if (gitRepo) {
    return [
      ['Type:', 'GitRepo (a volume that is pulled from git when the pod is created)'],
      ['Repository:', gitRepo.repository],
      ['Revision:', gitRepo.revision ?? ''],
    ]
  }
  if (glusterfs) {
    return [
      ['Type:', "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)"],
      ['EndpointsName:', glusterfs.endpoints],
      ['Path:', glusterfs.path],
      ['ReadOnly:', glusterfs.readOnly ?? false],
    ]
  }
  if (scaleIO) {
    return [
      ['Type:', 'ScaleIO (a persistent volume backed by a block device in ScaleIO)'],
      ['Gateway:', scaleIO.gateway],
      ['System:', scaleIO.system],
      ['Protection Domain:', scaleIO.protectionDomain ?? ''],
      ['Storage Pool:', scaleIO.storagePool ?? ''],
      ['Storage Mode:', scaleIO.storageMode ?? ''],
      ['VolumeName:', scaleIO.volumeName ?? ''],
      ['FSType:', scaleIO.fsType ?? ''],
      ['ReadOnly:', scaleIO.readOnly ?? false],
    ]
  }
  if (azureFile) {
    return [
      ['Type:', 'AzureFile (an Azure File Service mount on the host and bind mount to the pod)'],
      ['SecretName:', azureFile.secretName],
      ['ShareName:', azureFile.shareName],
      ['ReadOnly:', azureFile.readOnly ?? false],
    ]
  }
  if (csi) {
    return [
      ['Type:', 'CSI (a Container Storage Interface (CSI) volume source)'],
      ['Driver:', csi.driver],
      ['FSType:', csi.fsType ?? ''],
      ['ReadOnly:', csi.readOnly ?? false],
    ]
  }
  return objectSource(volume)
}

const ephemeralType =
  'EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)'

/** The sources that are objects of the API, an image or a directory. */
function objectSource(volume: Volume): readonly SourceRow[] | undefined {
  const { configMap, emptyDir, image, persistentVolumeClaim, projected, secret } = volume
  if (emptyDir) return emptyDirRows(emptyDir)
  if (projected) return projectedRows(projected)
  if (secret) {
    return [
      ['Type:', 'Secret (a volume populated by a Secret)'],
      ['SecretName:', secret.secretName ?? ''],
      ['Optional:', secret.optional ?? false],
    ]
  }
  if (configMap) {
    return [
      ['Type:', 'ConfigMap (a volume populated by a ConfigMap)'],
      ['Name:', configMap.name ?? ''],
      ['Optional:', configMap.optional ?? false],
    ]
  }
  if (persistentVolumeClaim) {
    return [
      ['Type:', 'PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)'],
      ['ClaimName:', persistentVolumeClaim.claimName],
      ['ReadOnly:', persistentVolumeClaim.readOnly ?? false],
    ]
  }
  if (image) {
    return [
      ['Type:', 'Image (a container image or OCI artifact)'],
      ['Reference:', image.reference ?? ''],
      ['PullPolicy:', image.pullPolicy ?? ''],
    ]
  }
  return undefined
}

function emptyDirRows({ medium = '', sizeLimit }: EmptyDirVolumeSource): readonly SourceRow[] {
  const isLimited = sizeLimit !== undefined && quantityOf(sizeLimit).nanos > 0n
  return [
    ['Type:', "EmptyDir (a temporary directory that shares a pod's lifetime)"],
    ['Medium:', medium],
    ['SizeLimit:', isLimited ? sizeLimit : '<unset>'],
  ]
}

function projectedRows({ sources = [] }: ProjectedVolumeSource): readonly SourceRow[] {
  const rows = sources.flatMap(({ secret, downwardAPI, configMap, serviceAccountToken }): SourceRow[] => {
    if (secret) {
      return [
        ['SecretName:', secret.name ?? ''],
        ['Optional:', secret.optional ?? false],
      ]
    }
    if (downwardAPI) return [['DownwardAPI:', true]]
    if (configMap) {
      return [
        ['ConfigMapName:', configMap.name ?? ''],
        ['Optional:', configMap.optional ?? false],
      ]
    }
    const { expirationSeconds } = serviceAccountToken ?? {}
    return expirationSeconds === undefined ? [] : [['TokenExpirationSeconds:', expirationSeconds]]
  })
  return [['Type:', 'Projected (a volume that contains injected data from multiple sources)'], ...rows]
}

function describeDownwardItems(writer: DescribeWriter, { items = [] }: DownwardAPIVolumeSource): void {
  writer.write(2, 'Items:\n')
  for (const { fieldRef, resourceFieldRef, path } of items) {
    if (fieldRef) writer.write(3, `${fieldRef.fieldPath} -> ${path}\n`)
    if (resourceFieldRef) writer.write(3, `${resourceFieldRef.resource} -> ${path}\n`)
  }
}

function describeClaimTemplate(writer: DescribeWriter, { volumeClaimTemplate }: EphemeralVolumeSource): void {
  if (!volumeClaimTemplate) return
  const { metadata = {}, spec } = volumeClaimTemplate
  describeClaim(writer.nested(2), { metadata, spec })
}
