/** An object for tests as the store would return it. */
import type { KubernetesObject, Stored } from '#/api/metadata.ts'

/** Fills in the metadata that every stored object has, where the object has none. */
export function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { name = 'x' } = object.metadata
  const creationTimestamp = '2026-01-01T00:00:00Z'
  const metadata = {
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp,
    ...object.metadata,
    name,
  }
  return { ...object, metadata }
}
