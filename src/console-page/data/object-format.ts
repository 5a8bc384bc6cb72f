import type { KubernetesObject } from '#/api/metadata.ts'
import type { ListFormat } from './watch-cache.ts'

/** Whole objects. Objects in a list have no kind of their own. */
export const objectFormat: ListFormat<KubernetesObject> = {
  accept: 'application/json',
  readPage: list => ({ items: (list['items'] ?? []) as KubernetesObject[], head: undefined }),
  readItem: object => object as unknown as KubernetesObject,
  metadataOf: object => object.metadata,
}
