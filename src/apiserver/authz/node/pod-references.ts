/** The objects that a pod references in its namespace, and that its node may therefore read. */
import type { Container, EphemeralContainer, Pod, Volume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

export type ReferencedResource =
  | 'secrets'
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'resourceclaims'
  | 'serviceaccounts'

/** `resource/namespace/name`, e.g. `secrets/default/token`. */
export type ReferenceKey = string

export function referenceKey(resource: ReferencedResource, namespace: string, name: string): ReferenceKey {
  return `${resource}/${namespace}/${name}`
}

/**
 * Empty for mirror pods: otherwise a node could gain access to any object by creating a mirror pod that
 * references it.
 */
export function podReferences(pod: Stored<Pod>): ReadonlySet<ReferenceKey> {
  const { namespace = '', annotations } = pod.metadata
  const keys = new Set<ReferenceKey>()
  if (annotations?.[mirrorAnnotation] !== undefined) return keys
  const add = (resource: ReferencedResource, name: string | undefined): void => {
    if (name) keys.add(referenceKey(resource, namespace, name))
  }
  const { spec } = pod
  add('serviceaccounts', spec?.serviceAccountName)
  for (const { name } of spec?.imagePullSecrets ?? []) add('secrets', name)
  for (const containers of [spec?.initContainers, spec?.containers, spec?.ephemeralContainers]) {
    for (const container of containers ?? []) addOfContainer(container, add)
  }
  for (const volume of spec?.volumes ?? []) addOfVolume(pod, volume, add)
  for (const name of claimNames(pod)) add('resourceclaims', name)
  return keys
}

/** Compares by identity the fields that references come from. */
export function hasSameReferences(left: Pod, right: Pod): boolean {
  return (
    left.spec === right.spec &&
    left.metadata.annotations === right.metadata.annotations &&
    left.status?.resourceClaimStatuses === right.status?.resourceClaimStatuses &&
    left.status?.extendedResourceClaimStatus === right.status?.extendedResourceClaimStatus
  )
}

const mirrorAnnotation = 'kubernetes.io/config.mirror'

type Add = (resource: ReferencedResource, name: string | undefined) => void

function addOfContainer({ env = [], envFrom = [] }: Container | EphemeralContainer, add: Add): void {
  for (const { secretRef, configMapRef } of envFrom) {
    add('secrets', secretRef?.name)
    add('configmaps', configMapRef?.name)
  }
  for (const { valueFrom } of env) {
    add('secrets', valueFrom?.secretKeyRef?.name)
    add('configmaps', valueFrom?.configMapKeyRef?.name)
  }
}

function addOfVolume(pod: Stored<Pod>, volume: Volume, add: Add): void {
  add('configmaps', volume.configMap?.name)
  add('secrets', volume.secret?.secretName)
  add('secrets', volume.azureFile?.secretName)
  add('secrets', volume.csi?.nodePublishSecretRef?.name)
  for (const source of [
    volume.cephfs,
    volume.cinder,
    volume.flexVolume,
    volume.iscsi,
    volume.rbd,
    volume.scaleIO,
    volume.storageos,
  ])
    add('secrets', source?.secretRef?.name)
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add('secrets', secret?.name)
    add('configmaps', configMap?.name)
  }
  add('persistentvolumeclaims', volume.persistentVolumeClaim?.claimName)
  // The claim of an ephemeral volume is named `POD-VOLUME`.
  if (volume.ephemeral) add('persistentvolumeclaims', `${pod.metadata.name}-${volume.name}`)
}

/** Claims created from a template are listed in the pod's status. */
function claimNames({ spec, status }: Pod): readonly (string | undefined)[] {
  const made = new Map((status?.resourceClaimStatuses ?? []).map(each => [each.name, each.resourceClaimName]))
  return [
    ...(spec?.resourceClaims ?? []).map(({ name, resourceClaimName }) => resourceClaimName ?? made.get(name)),
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ]
}
