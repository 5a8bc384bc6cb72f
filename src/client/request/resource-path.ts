import { assert } from '#/base/assert.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'

/** What of a resource is meant. */
export interface ResourceTarget {
  /** Absent or empty for all namespaces, and for what is outside of them. */
  readonly namespace?: string | undefined
  /** Absent for the whole collection. */
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/**
 * The path of a resource, an object or a part of one:
 * `/apis/apps/v1/namespaces/default/deployments/web/scale`.
 */
export function resourcePath(
  resource: Resource,
  { namespace = '', name, subresource }: ResourceTarget,
): string {
  assert(name !== '', `which of the ${resource.plural} is meant must be said: the name is empty`)
  const isNamespaced = resource.scope === 'Namespaced'
  assert(
    isNamespaced || namespace === '',
    `${resource.plural} have no namespace, and so none can be asked for`,
  )
  const parts = [resource.group === '' ? '/api' : '/apis', apiVersionOf(resource)]
  if (namespace !== '') parts.push('namespaces', encodeURIComponent(namespace))
  parts.push(resource.plural)
  if (name !== undefined) parts.push(encodeSegment(name))
  if (subresource !== undefined) parts.push(subresource)
  return parts.join('/')
}

/** The path of one object, which must be in a namespace where the kind has them. */
export function objectPath(resource: Resource, target: ResourceTarget & { readonly name: string }): string {
  assertNamespace(resource, target.namespace)
  return resourcePath(resource, target)
}

export function assertNamespace(resource: Resource, namespace: string | undefined): void {
  assert(
    resource.scope === 'Cluster' || namespace,
    `which namespace the ${resource.singular} is in must be said`,
  )
}

/** A name that is `.` or `..` would lead to another path. */
function encodeSegment(name: string): string {
  return encodeURIComponent(name).replace(/^\.{1,2}$/, dots => '%2E'.repeat(dots.length))
}
