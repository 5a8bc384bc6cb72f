/** Request paths of collections, objects and subresources. */
import { assert } from '#/base/assert.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'

/** The part of a resource that its paths contain. */
export type PathResource = Pick<Resource, 'group' | 'version' | 'plural' | 'scope'>

/** A collection, an object or a subresource of a resource. */
export interface ResourceTarget {
  /** Absent or empty for all namespaces and for cluster-scoped resources. */
  readonly namespace?: string | undefined
  /** Absent for the collection. */
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/**
 * The path of a collection, an object or a subresource:
 * `/apis/apps/v1/namespaces/default/deployments/web/scale`.
 */
export function resourcePath(
  resource: PathResource,
  { namespace = '', name, subresource }: ResourceTarget,
): string {
  assert(name !== '', `${resource.plural}: the name must not be empty`)
  const isNamespaced = resource.scope === 'Namespaced'
  assert(isNamespaced || namespace === '', `${resource.plural} are cluster-scoped: namespace must not be set`)
  const parts = [resource.group === '' ? '/api' : '/apis', apiVersionOf(resource)]
  if (namespace !== '') parts.push('namespaces', encodeURIComponent(namespace))
  parts.push(resource.plural)
  if (name !== undefined) parts.push(encodeSegment(name))
  if (subresource !== undefined) parts.push(subresource)
  return parts.join('/')
}

/** The path of one object; namespaced resources require a namespace. */
export function objectPath(
  resource: PathResource & Pick<Resource, 'singular'>,
  target: ResourceTarget & { readonly name: string },
): string {
  assertNamespace(resource, target.namespace)
  return resourcePath(resource, target)
}

export function assertNamespace(
  resource: Pick<Resource, 'scope' | 'singular'>,
  namespace: string | undefined,
): void {
  assert(resource.scope === 'Cluster' || namespace, `${resource.singular}: namespace is required`)
}

/** Also encodes names that are `.` or `..`, which would resolve to another path. */
function encodeSegment(name: string): string {
  return encodeURIComponent(name).replace(/^\.{1,2}$/, dots => '%2E'.repeat(dots.length))
}
