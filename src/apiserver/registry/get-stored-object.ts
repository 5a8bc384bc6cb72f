import type { Registry } from './registry.ts'
import { StoredObject } from './stored-object.ts'

/** The current object from the cache; on a miss, from the store. */
export async function getStoredObject(
  registry: Pick<Registry, 'cache' | 'store'>,
  key: string,
): Promise<StoredObject | undefined> {
  const cached = registry.cache.get(key)
  if (cached) return cached
  const entry = await registry.store.get(key)
  return entry && new StoredObject(entry)
}
