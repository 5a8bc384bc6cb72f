import type { Registry } from './registry.ts'
import { StoredObject } from './stored-object.ts'

/** The current object from the cache; on a miss, from the store. */
export async function getStoredObject(
  registry: Pick<Registry, 'cache' | 'store'>,
  key: string,
): Promise<StoredObject | undefined> {
  return registry.cache.get(key) ?? readStore(registry, key)
}

/** For decisions that the cache cannot make: it may be behind the writes of other API servers. */
export async function readStore(
  { store }: Pick<Registry, 'store'>,
  key: string,
): Promise<StoredObject | undefined> {
  const entry = await store.get(key)
  return entry && new StoredObject(entry)
}
