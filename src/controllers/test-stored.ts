/** Test helper: completes the metadata of an object literal, as if the API server had stored it. */
import type { KubernetesObject, Stored } from '#/api/metadata.ts'

export function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { name = 'object' } = object.metadata
  const metadata = {
    name,
    uid: `uid of ${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...object.metadata,
  }
  return { ...object, metadata }
}
