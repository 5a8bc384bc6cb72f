/** The objects that a pod refers to. */
import type { Container, Pod, PodSpec, Volume, VolumeProjection } from '#/api/generated/core/v1.ts'
import { allContainers, specOf } from './pod-spec.ts'

export function refersToSecrets(pod: Pod): boolean {
  const { imagePullSecrets = [], volumes = [], ...spec } = specOf(pod)
  return (
    imagePullSecrets.some(({ name }) => name) ||
    allContainers(spec).some(container => usesSource(container, 'secretRef', 'secretKeyRef')) ||
    volumes.some(volume => secretOf(volume))
  )
}

function refersToConfigMaps(pod: Pod): boolean {
  const { volumes = [], ...spec } = specOf(pod)
  return (
    allContainers(spec).some(container => usesSource(container, 'configMapRef', 'configMapKeyRef')) ||
    volumes.some(({ configMap, projected }) => {
      return configMap?.name || projected?.sources?.some(source => source.configMap?.name)
    })
  )
}

function usesSource(
  { envFrom = [], env = [] }: Container,
  whole: 'secretRef' | 'configMapRef',
  part: 'secretKeyRef' | 'configMapKeyRef',
): boolean {
  return envFrom.some(source => source[whole]?.name) || env.some(({ valueFrom }) => valueFrom?.[part]?.name)
}

/** The secret a volume references, if any. */
function secretOf(volume: Volume): string | undefined {
  const { azureFile, cephfs, cinder, flexVolume, projected, rbd, secret, scaleIO, iscsi, storageos, csi } =
    volume
  const references = [
    cephfs?.secretRef,
    cinder?.secretRef,
    flexVolume?.secretRef,
    rbd?.secretRef,
    scaleIO?.secretRef,
    iscsi?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    ...(projected?.sources?.map(source => source.secret) ?? []),
  ]
  return azureFile?.secretName || secret?.secretName || references.find(reference => reference?.name)?.name
}

/**
 * The first API object type the pod references; undefined if there is none. Unknown volume types count as
 * references. Mirror pods must not reference API objects.
 */
export function apiReferenceOf(pod: Pod): string | undefined {
  const spec: PodSpec = specOf(pod)
  if (spec.serviceAccountName) return 'serviceaccounts'
  if (refersToSecrets(pod)) return 'secrets'
  if (refersToConfigMaps(pod)) return 'configmaps'
  if (spec.resourceClaims?.length) return 'resourceclaims'
  for (const volume of spec.volumes ?? []) {
    const reference = volumeReferenceOf(volume)
    if (reference !== undefined) return reference
  }
  return undefined
}

/** Volume types that reference no API objects. */
const selfContained: ReadonlySet<string> = new Set([
  'awsElasticBlockStore',
  'azureDisk',
  'cephfs',
  'cinder',
  'downwardAPI',
  'emptyDir',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'gitRepo',
  'hostPath',
  'image',
  'iscsi',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
])

const volumeReferences: ReadonlyMap<string, string> = new Map([
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
])

function volumeReferenceOf({ name, projected, ...sources }: Volume): string | undefined {
  const kinds = Object.keys(sources)
  if (projected) {
    const sources = projected.sources ?? []
    return sources.map(source => projectionReferenceOf(name, source)).find(each => each !== undefined)
  }
  const reference = kinds.map(kind => volumeReferences.get(kind)).find(each => each !== undefined)
  if (reference !== undefined) return reference
  return kinds.length > 0 && kinds.every(kind => selfContained.has(kind))
    ? undefined
    : `an unknown volume type for volume "${name}"`
}

const projectionReferences: ReadonlyMap<string, string> = new Map([
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
])

function projectionReferenceOf(volume: string, source: VolumeProjection): string | undefined {
  const kinds = Object.keys(source)
  const reference = kinds.map(kind => projectionReferences.get(kind)).find(each => each !== undefined)
  if (reference !== undefined) return reference
  return kinds.length > 0 && kinds.every(kind => kind === 'downwardAPI')
    ? undefined
    : `an unknown source for projected volume "${volume}"`
}
