import { labelOf, pathOf, type DiscoveredResource, type PathOptions } from '../discovered.ts'
import type { KindBodies } from '../examples.ts'
import type { Mutations } from '../mutations.ts'
import type { PlannedRequest } from '../request.ts'
import type { Schemas } from '../schemas.ts'

/** What requests are made from. */
export interface PlanContext {
  readonly resources: readonly DiscoveredResource[]
  readonly bodies: KindBodies
  readonly schemas: Schemas
  readonly mutations: Mutations
}

/** Objects that exist while the independent requests are sent. */
export const richName = 'compare-rich'
export const minimalName = 'compare-minimal'

/** Every object of the tool has this label. */
export const ownLabel = { 'compare-servers': 'yes' }
export const ownSelector = 'labelSelector=compare-servers%3Dyes'

export interface RequestOptions extends PathOptions {
  readonly method: string
  readonly query?: string
  readonly headers?: PlannedRequest['headers']
  readonly body?: PlannedRequest['body']
  readonly answer?: PlannedRequest['answer']
}

/** A request for a resource; `about` completes its id. */
export function requestFor(
  resource: DiscoveredResource,
  about: string,
  options: RequestOptions,
): PlannedRequest {
  const { method, query, headers, body, answer } = options
  const path = pathOf(resource, options)
  return {
    id: `${labelOf(resource)} ${about}`,
    resource: labelOf(resource),
    method,
    path: query === undefined ? path : `${path}?${query}`,
    ...(headers && { headers }),
    ...(body && { body }),
    ...(answer && { answer }),
  }
}

/**
 * Kinds of which no object is created for real: a ServiceCIDR changes which addresses services get, and the
 * server removes an IPAddress without a service.
 */
const dryKinds: ReadonlySet<string> = new Set(['ServiceCIDR', 'IPAddress'])

/** True if objects of the resource are created for real. */
export function isStored({ kind, verbs }: DiscoveredResource): boolean {
  return verbs.includes('create') && verbs.includes('delete') && !dryKinds.has(kind)
}
