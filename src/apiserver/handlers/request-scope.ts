/**
 * A request after routing: its context with the resource, the negotiated view and the registry that serves it. It is
 * not part of the context, because only requests for resources have it, and the stages before the router must not
 * depend on it. `info` is that of the context, narrowed by the router.
 */
import { badRequest, notFound, type ErrorSubject } from '#/api/errors.ts'
import { checkPathSegmentName } from '#/api/names.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import type { Registry } from '../registry/registry.ts'
import type { SubresourceStrategy } from '#/api/kind-rules.ts'
import { keyOf } from '../registry/store-keys.ts'
import type { ResourceRequestInfo } from '../request-info.ts'
import type { RequestContext } from '../request.ts'
import type { View } from '../view.ts'

export interface RequestScope {
  readonly registry: Registry
  readonly context: RequestContext
  readonly info: ResourceRequestInfo
  readonly resource: Resource
  readonly view: View
  /** The strategy of the subresource, if any. */
  readonly strategy?: SubresourceStrategy
}

/** The subject of error messages: the object, or the resource if there is no name. */
export function subjectOf({ resource, info }: Pick<RequestScope, 'resource' | 'info'>): ErrorSubject {
  return { group: resource.group, kind: resource.plural, ...(info.name && { name: info.name }) }
}

/** Store key of the object in the path. Throws ApiError 404 for invalid names. */
export function keyOfScope({ resource, info }: Pick<RequestScope, 'resource' | 'info'>): string {
  const { name, namespace } = info
  if (checkPathSegmentName(name).length > 0 || checkPathSegmentName(namespace).length > 0) {
    throw notFound(subjectOf({ resource, info }))
  }
  return keyOf(resource, namespace, name)
}

/** Undefined when absent. Throws ApiError 400 if it is not an integer. */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^[-+]?\d{1,18}$/.test(text)) {
    const problem = /^[-+]?\d+$/.test(text) ? 'value out of range' : 'invalid syntax'
    throw badRequest(`strconv.ParseInt: parsing ${quote(text.slice(0, 100))}: ${problem}`)
  }
  return Number(text)
}
