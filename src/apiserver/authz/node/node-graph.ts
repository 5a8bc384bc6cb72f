/**
 * Maps objects to the nodes that need them: what their pods reference, the volumes of their claims, and the
 * secrets of those volumes. Built on first use and updated with the cache.
 */
import type { PersistentVolume, Pod } from '#/api/generated/core/v1.ts'
import { persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { ObjectCache } from '../../registry/watch-cache.ts'
import { keyOf, prefixOf } from '../../registry/store-keys.ts'
import { CacheIndex } from '../cache-index.ts'
import {
  hasSameReferences,
  podReferences,
  referenceKey,
  type ReferencedResource,
  type ReferenceKey,
} from './pod-references.ts'

export class NodeGraph {
  readonly #cache: ObjectCache
  readonly #pods: CacheIndex<PodsByReference>
  readonly #volumes: CacheIndex<VolumesBySecret>

  constructor(cache: ObjectCache) {
    this.#cache = cache
    this.#pods = new CacheIndex<PodsByReference>({
      cache,
      prefixes: [prefixOf(pods, '')],
      empty: () => new Map(),
      add: (index, stored) => countPod(index, stored.object as Stored<Pod>, 1),
      remove: (index, stored) => countPod(index, stored.object as Stored<Pod>, -1),
      isSame: (before, after) => hasSameReferences(before.object as Stored<Pod>, after.object as Stored<Pod>),
    })
    this.#volumes = new CacheIndex<VolumesBySecret>({
      cache,
      prefixes: [prefixOf(persistentVolumes, '')],
      empty: () => new Map(),
      add: (index, stored) => addVolume(index, stored.object as Stored<PersistentVolume>),
      remove: (index, stored) => removeVolume(index, stored.object as Stored<PersistentVolume>),
    })
  }

  /** True if a pod on the node references the object, directly or through the volume of its claim. */
  isReferencedBy(node: string, resource: ReferencedResource, { namespace, name }: ObjectName): boolean {
    const key = referenceKey(resource, namespace, name)
    if (this.#pods.current.get(key)?.has(node)) return true
    if (resource !== 'secrets') return false
    for (const volume of this.#volumes.current.get(key) ?? []) if (this.needsVolume(node, volume)) return true
    return false
  }

  needsVolume(node: string, name: string): boolean {
    const volume = this.#cache.get(keyOf(persistentVolumes, '', name))?.object as
      | Stored<PersistentVolume>
      | undefined
    const claim = volume?.spec?.claimRef
    if (!claim?.name) return false
    return this.isReferencedBy(node, 'persistentvolumeclaims', {
      namespace: claim.namespace ?? '',
      name: claim.name,
    })
  }
}

interface ObjectName {
  readonly namespace: string
  readonly name: string
}

/** Number of referencing pods per node, by object. */
type PodsByReference = Map<ReferenceKey, Map<string, number>>

/** Names of the PersistentVolumes that reference a secret. */
type VolumesBySecret = Map<ReferenceKey, Set<string>>

function countPod(index: PodsByReference, pod: Stored<Pod>, by: 1 | -1): void {
  const node = pod.spec?.nodeName
  if (!node) return
  for (const key of podReferences(pod)) {
    const nodes = index.get(key) ?? new Map<string, number>()
    const count = (nodes.get(node) ?? 0) + by
    if (count > 0) nodes.set(node, count)
    else nodes.delete(node)
    if (nodes.size > 0) index.set(key, nodes)
    else index.delete(key)
  }
}

function addVolume(index: VolumesBySecret, volume: Stored<PersistentVolume>): void {
  for (const key of volumeSecrets(volume)) {
    const volumes = index.get(key) ?? new Set<string>()
    index.set(key, volumes.add(volume.metadata.name))
  }
}

function removeVolume(index: VolumesBySecret, volume: Stored<PersistentVolume>): void {
  for (const key of volumeSecrets(volume)) {
    const volumes = index.get(key)
    volumes?.delete(volume.metadata.name)
    if (volumes?.size === 0) index.delete(key)
  }
}

interface SecretReference {
  readonly name?: string
  readonly namespace?: string
}

/** Secrets a node needs to mount a PersistentVolume, without those that only the controller needs. */
export function volumeSecrets({ spec }: PersistentVolume): readonly ReferenceKey[] {
  if (!spec?.claimRef) return []
  const { azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd, scaleIO, storageos } = spec
  // Secret references without a namespace refer to the namespace of the claim.
  const claimNamespace = spec.claimRef.namespace ?? ''
  const references: readonly (SecretReference | undefined)[] = [
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace || claimNamespace },
    ...[cephfs, flexVolume, iscsi, rbd, scaleIO].map(source =>
      withNamespace(source?.secretRef, claimNamespace),
    ),
    cinder?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ]
  return references.flatMap(each =>
    each?.name ? [referenceKey('secrets', each.namespace ?? '', each.name)] : [],
  )
}

function withNamespace(
  reference: SecretReference | undefined,
  namespace: string,
): SecretReference | undefined {
  return reference && { ...reference, namespace: reference.namespace || namespace }
}
