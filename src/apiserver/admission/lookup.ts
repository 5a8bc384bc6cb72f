/** Object lookups for admission plugins. */
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import { StoredObject } from '../registry/stored-object.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'

export interface ObjectName {
  readonly name: string
  readonly namespace?: string
}

/** Reads from the cache; may be stale. */
export function getCached<T extends KubernetesObject>(
  { cache }: Pick<Registry, 'cache'>,
  resource: Resource<T>,
  { name, namespace = '' }: ObjectName,
): Stored<T> | undefined {
  return cache.get(keyOf(resource, namespace, name))?.object as Stored<T> | undefined
}

/** Reads from the cache; on a miss, reads the store, because the object may have just been created. */
export async function getCachedOrStored<T extends KubernetesObject>(
  objects: Pick<Registry, 'cache' | 'store'>,
  resource: Resource<T>,
  { name, namespace = '' }: ObjectName,
): Promise<Stored<T> | undefined> {
  const stored = await getStoredObject(objects, keyOf(resource, namespace, name))
  return stored?.object as Stored<T> | undefined
}

export function listCached<T extends KubernetesObject>(
  { cache }: Pick<Registry, 'cache'>,
  resource: Resource<T>,
  namespace = '',
): readonly Stored<T>[] {
  return Array.from(cache.list(prefixOf(resource, namespace)), stored => stored.object as Stored<T>)
}

/** Reads from the store, bypassing the cache. */
export async function getStored<T extends KubernetesObject>(
  { store }: Pick<Registry, 'store'>,
  resource: Resource<T>,
  { name, namespace = '' }: ObjectName,
): Promise<Stored<T> | undefined> {
  const entry = await store.get(keyOf(resource, namespace, name))
  return entry && (new StoredObject(entry).object as Stored<T>)
}
