/** Test helper: compact notation for claims, volumes and storage classes. */
import { events, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
  Pod,
} from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { TestControlPlane } from './test-control-plane.ts'

type Metadata = NonNullable<KubernetesObject['metadata']>

export function claimOf(
  name: string,
  size = '1Gi',
  spec: PersistentVolumeClaimSpec = {},
  metadata: Metadata = {},
): PersistentVolumeClaim {
  return {
    metadata: { namespace: 'default', name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } }, ...spec },
  }
}

export function volumeOf(
  name: string,
  size = '1Gi',
  spec: PersistentVolumeSpec = {},
  metadata: Metadata = {},
): PersistentVolume {
  const source = spec.csi ? {} : { nfs: { server: 's', path: '/p' } }
  return {
    metadata: { name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: size }, ...source, ...spec },
  }
}

export function classOf(name: string, fields: Partial<StorageClass> = {}): StorageClass {
  return { metadata: { name }, provisioner: 'csi.example.com', ...fields }
}

export function podWithClaims(name: string, claims: readonly string[], spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { namespace: 'default', name },
    spec: {
      containers: [{ name: 'main', image: 'image' }],
      volumes: claims.map(claimName => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      ...spec,
    },
  }
}

export function nodeOf(name: string, annotations: Readonly<Record<string, string>> = {}): Node {
  return { metadata: { name, labels: { 'kubernetes.io/hostname': name }, annotations } }
}

/** `name:phase>volume` of every claim, sorted. */
export async function showClaims(plane: TestControlPlane): Promise<string> {
  const claims = await plane.list(persistentVolumeClaims)
  return claims
    .map(({ metadata, spec, status }) => {
      return `${metadata.name}:${status?.phase}${spec?.volumeName ? `>${spec.volumeName}` : ''}`
    })
    .toSorted()
    .join(' ')
}

/** `name:phase>claim` of every volume, sorted. */
export async function showVolumes(plane: TestControlPlane): Promise<string> {
  const volumes = await plane.list(persistentVolumes)
  return volumes
    .map(({ metadata, spec, status }) => {
      return `${metadata.name}:${status?.phase}${spec?.claimRef ? `>${spec.claimRef.name}` : ''}`
    })
    .toSorted()
    .join(' ')
}

/** `reason: message` of all events about an object. */
export async function eventsAbout(plane: TestControlPlane, name: string): Promise<readonly string[]> {
  const recorded = await plane.list(events)
  return recorded
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`)
}
