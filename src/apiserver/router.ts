/** From what a request is about to the handler of its verb. Built-in and custom kinds go the same way. */
import { apiError, methodNotAllowed, type ApiError } from '#/api/errors.ts'
import { apiVersionOf, isCustomKind, type Resource } from '#/api/resource.ts'
import { create } from './handlers/create.ts'
import type { Call } from './handlers/call.ts'
import { remove } from './handlers/delete.ts'
import { removeCollection } from './handlers/delete-collection.ts'
import { get } from './handlers/get.ts'
import { list } from './handlers/list.ts'
import { patch } from './handlers/patch.ts'
import { update } from './handlers/update.ts'
import { watch } from './handlers/watch.ts'
import { negotiate, withoutProtobuf, withoutTables } from './negotiation.ts'
import type { ObjectView } from './registry/object-cache.ts'
import type { Registry } from './registry/registry.ts'
import { rulesOf } from './registry/write.ts'
import { isConnecting, isTrue, type ApiVerb, type ResourceRequestInfo } from './request-info.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { View } from './view.ts'

export type Handler = (call: Call) => Promise<ApiResponse>

/** Handlers of a subresource, or of a resource that is not stored, by verb. */
export type VerbHandlers = Partial<Readonly<Record<ApiVerb, Handler>>>

const handlers: VerbHandlers = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
}

/** A part of an object, the status first of all, is read and written like the object. */
const partHandlers: VerbHandlers = { get, update, patch }

export interface RouterOptions {
  readonly registry: Registry
  /** By resource and name: `pods/binding`, `deployments.apps/scale`. */
  readonly subresources: ReadonlyMap<string, VerbHandlers>
  /** Resources that are answered and not stored, by name. They have no other verbs than these. */
  readonly virtual: ReadonlyMap<string, VerbHandlers>
}

export class Router {
  readonly #options: RouterOptions

  constructor(options: RouterOptions) {
    this.#options = options
  }

  /** Throws, or rejects with, ApiError. */
  route(context: RequestContext, info: ResourceRequestInfo): Promise<ApiResponse> {
    const { registry } = this.#options
    const { request } = context
    const resource = registry.scheme.byResource(info)
    if (resource === undefined) throw noSuchResource()
    const handler = this.#handler(resource, info)
    const { deprecation } = rulesOf(resource)
    if (deprecation !== undefined) {
      context.warnings.add(`${apiVersionOf(resource)} ${resource.kind} ${deprecation}`)
    }
    const accept = acceptFor(resource, info, request.headers['accept'])
    const negotiated = negotiate(accept, request.query, request.headers['user-agent'])
    const objects = objectsFor(registry, request.query)
    return handler({ registry, context, info, resource, objects, view: new View(resource, negotiated) })
  }

  #handler(resource: Resource, info: ResourceRequestInfo): Handler {
    // A namespace is in itself. Nothing else of the cluster is in one: who has rights there has none on it.
    const isInItself = resource.plural === 'namespaces' && info.namespace === info.name
    if (resource.scope === 'Cluster' && info.namespace !== '' && !isInItself) throw noSuchResource()
    const isAcross = resource.scope === 'Namespaced' && info.namespace === ''
    if (isAcross && info.name !== '' && info.verb !== 'list' && info.verb !== 'watch') throw noSuchResource()
    if (info.subresource !== '') return this.#subresourceHandler(resource, info)
    const isServed = (resource.verbs as readonly string[]).includes(info.verb)
    // Objects of all namespaces can be looked at together, not written.
    if (!isServed || (isAcross && info.verb !== 'list' && info.verb !== 'watch'))
      throw notAllowed(resource, info)
    const virtual = this.#options.virtual.get(resourceName(resource))
    const handler = virtual ? virtual[info.verb] : handlers[info.verb]
    if (handler === undefined) throw notAllowed(resource, info)
    return handler
  }

  #subresourceHandler(resource: Resource, info: ResourceRequestInfo): Handler {
    const subresource = resource.subresources.get(info.subresource)
    if (subresource === undefined) throw noSuchResource()
    const part = rulesOf(resource).parts?.[info.subresource]
    const isPart = part !== undefined || info.subresource === 'status'
    const special = this.#options.subresources.get(`${resourceName(resource)}/${info.subresource}`)
    const handler = (isPart ? partHandlers : special)?.[info.verb]
    if (handler === undefined) throw notAllowed(resource, info)
    return part ? call => handler({ ...call, part }) : handler
  }
}

/** What a node or a pod answers is for the client to like or not. */
function acceptFor(
  resource: Resource,
  info: ResourceRequestInfo,
  accept: string | undefined,
): string | undefined {
  if (isConnecting(info)) return undefined
  const shown = isOnlyCreated(resource, info) ? withoutTables(accept) : accept
  return isCustomKind(resource) ? withoutProtobuf(shown) : shown
}

/** Reviews, bindings, evictions and the like are answered and can never be looked at. */
function isOnlyCreated(resource: Resource, { subresource }: ResourceRequestInfo): boolean {
  const { verbs } = resource.subresources.get(subresource) ?? resource
  return verbs.every(verb => verb === 'create')
}

/** What is not initialized yet only those see who ask for it. */
function objectsFor({ cache }: Registry, query: URLSearchParams): ObjectView {
  const { unhidden } = cache
  return unhidden && isTrue(query.get('includeUninitialized')) ? unhidden : cache
}

function resourceName({ group, plural }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`
}

function noSuchResource(): ApiError {
  return apiError('NotFound', 'the server could not find the requested resource')
}

function notAllowed(resource: Resource, { verb }: ResourceRequestInfo): ApiError {
  return methodNotAllowed({ group: resource.group, kind: resource.plural }, verb)
}
