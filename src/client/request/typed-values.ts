import type { JsonObject } from '#/api/apply.ts'
import { objectOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { ObjectList } from '../client.ts'
import { TransportError } from '../transport.ts'

/** Types the response as the requested kind: the server has validated it against its schema. */
export function decodeObject<T extends KubernetesObject>(resource: Resource<T>, value: unknown): Stored<T> {
  if (isObject(value)) return objectOf(value as JsonObject) as Stored<T>
  throw new TransportError('invalid-response', `response is not a ${resource.kind}`)
}

/**
 * Items of a list have no apiVersion and kind; they are added, since objects are passed around without their
 * list.
 */
export function decodeList<T extends KubernetesObject>(resource: Resource<T>, value: unknown): ObjectList<T> {
  const { items, metadata } = (isObject(value) ? value : {}) as Partial<ObjectList<T>>
  // Go encodes an empty list as null.
  if (!isObject(metadata) || (items !== null && !Array.isArray(items))) {
    throw new TransportError('invalid-response', `response is not a list of ${resource.plural}`)
  }
  const objects = (items ?? []) as readonly unknown[]
  return { items: objects.map(item => withKind(resource, decodeObject(resource, item))), metadata }
}

export function withKind<T extends KubernetesObject>(resource: Resource, object: T): T {
  if (object.kind !== undefined && object.apiVersion !== undefined) return object
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
