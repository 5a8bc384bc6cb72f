/** A request for a resource, with everything about it that is known before a handler runs. */
import { badRequest, notFound, type ErrorSubject } from '#/api/errors.ts'
import { checkPathSegmentName } from '#/api/names.ts'
import type { Resource } from '#/api/resource.ts'
import type { Registry } from '../registry/registry.ts'
import type { KindPart } from '#/api/kind-rules.ts'
import type { ObjectView } from '../registry/object-cache.ts'
import { keyOf } from '../registry/store-keys.ts'
import type { ResourceRequestInfo } from '../request-info.ts'
import type { RequestContext } from '../request.ts'
import type { View } from '../view.ts'

export interface Call {
  readonly registry: Registry
  readonly context: RequestContext
  readonly info: ResourceRequestInfo
  readonly resource: Resource
  readonly view: View
  /** The objects as the client wants to see them. */
  readonly objects: ObjectView
  /** What the path may change of the object. */
  readonly part?: KindPart
}

/** What errors about the object, or about the resource when there is no name, are about. */
export function subjectOf({ resource, info }: Pick<Call, 'resource' | 'info'>): ErrorSubject {
  return { group: resource.group, kind: resource.plural, ...(info.name && { name: info.name }) }
}

/** The key of the object that the path names. A name that no object can have is not found. */
export function keyOfCall({ resource, info }: Pick<Call, 'resource' | 'info'>): string {
  const { name, namespace } = info
  if (checkPathSegmentName(name).length > 0 || checkPathSegmentName(namespace).length > 0) {
    throw notFound(subjectOf({ resource, info }))
  }
  return keyOf(resource, namespace, name)
}

/** A whole number in the query; undefined when absent. */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^-?\d{1,18}$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 100))}: invalid syntax`)
  }
  return Number(text)
}
