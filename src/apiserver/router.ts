/** Routes a resource request to the handler of its verb. Built-in and custom resources are handled alike. */
import { methodNotAllowed, notFound, type ApiError } from '#/api/errors.ts'
import { apiVersionOf, isCustomKind, qualifiedResourceName, type Resource } from '#/api/resource.ts'
import { create } from './handlers/create.ts'
import type { RequestScope } from './handlers/request-scope.ts'
import { deleteHandler } from './handlers/delete.ts'
import { deleteCollection } from './handlers/delete-collection.ts'
import { get } from './handlers/get.ts'
import { list } from './handlers/list.ts'
import { patch } from './handlers/patch.ts'
import { update } from './handlers/update.ts'
import { watch } from './handlers/watch.ts'
import { negotiate, withoutProtobuf, withoutTables } from './negotiation.ts'
import { PathNotFoundError } from './pipeline.ts'
import type { Registry } from './registry/registry.ts'
import { rulesOf } from './registry/resource-strategy.ts'
import { isConnectSubresource, type ApiVerb, type ResourceRequestInfo } from './request-info.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { isBuiltInGroup, noSuchResource, requireRoute } from './served-routes.ts'
import { View } from './view.ts'

export type Handler = (scope: RequestScope) => Promise<ApiResponse>

/** Handlers by verb, of a subresource or of a resource that is not stored. */
export type VerbHandlers = Partial<Readonly<Record<ApiVerb, Handler>>>

const handlers: VerbHandlers = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: deleteHandler,
  deletecollection: deleteCollection,
}

/** Handlers of subresources that are part of the object, such as status. */
const partHandlers: VerbHandlers = { get, update, patch }

export interface RouterOptions {
  readonly registry: Registry
  /** By qualified name: `pods/binding`. A star instead of the resource stands for all that have the subresource. */
  readonly subresources: ReadonlyMap<string, VerbHandlers>
  /** Handlers of resources that are not stored, by qualified name. */
  readonly virtual: ReadonlyMap<string, VerbHandlers>
}

export class Router {
  readonly #options: RouterOptions

  constructor(options: RouterOptions) {
    this.#options = options
  }

  /** Throws or rejects with ApiError. */
  route(context: RequestContext, info: ResourceRequestInfo): Promise<ApiResponse> {
    const { registry } = this.#options
    const { request } = context
    const resource = registry.scheme.byResource(info)
    if (resource === undefined) throw this.#notFound(info)
    if (isCustomKind(resource)) requireScope(resource, info)
    else requireRoute(resource, info, request)
    const { deprecation, deprecationWarning } = rulesOf(resource)
    if (deprecation !== undefined) {
      const warning = deprecationWarning ?? `${apiVersionOf(resource)} ${resource.kind} ${deprecation}`
      context.warnings.add(warning)
    }
    const handler = this.#handler(resource, info)
    const accept = acceptFor(resource, info, request.headers['accept'])
    const negotiated = negotiate(accept, request.query, request.headers['user-agent'])
    return handler({ registry, context, info, resource, view: new View(resource, negotiated) })
  }

  /** A group of built-in resources answers for all paths below it. */
  #notFound({ group }: ResourceRequestInfo): ApiError {
    const { scheme } = this.#options.registry
    return isBuiltInGroup(scheme, group) ? noSuchResource() : new PathNotFoundError()
  }

  #handler(resource: Resource, info: ResourceRequestInfo): Handler {
    if (info.subresource !== '') return this.#subresourceHandler(resource, info)
    const virtual = this.#options.virtual.get(qualifiedResourceName(resource))
    const isServed = (resource.verbs as readonly string[]).includes(info.verb)
    const handler = virtual ? virtual[info.verb] : handlers[info.verb]
    if (!isServed || handler === undefined) throw notAllowed(resource, info)
    return handler
  }

  #subresourceHandler(resource: Resource, info: ResourceRequestInfo): Handler {
    if (!resource.subresources.has(info.subresource))
      throw notFound({ group: resource.group, kind: resource.plural, name: info.name })
    const strategy = rulesOf(resource).subresources?.[info.subresource]
    const isPart = strategy !== undefined || info.subresource === 'status'
    const { subresources } = this.#options
    const special =
      subresources.get(`${qualifiedResourceName(resource)}/${info.subresource}`) ??
      subresources.get(`*/${info.subresource}`)
    const handler = (isPart ? partHandlers : special)?.[info.verb]
    if (handler === undefined) throw notAllowed(resource, info)
    return strategy ? scope => handler({ ...scope, strategy }) : handler
  }
}

/** Refuses paths of custom resources that their scope does not have. */
function requireScope({ scope }: Resource, { namespace, verb }: ResourceRequestInfo): void {
  // A cluster-scoped resource must not be reachable through a namespace, where namespaced permissions would apply.
  const isOutside = scope === 'Cluster' && namespace !== ''
  const canSpan = verb === 'list' || verb === 'watch'
  if (isOutside || (scope === 'Namespaced' && namespace === '' && !canSpan)) throw new PathNotFoundError()
}

/** Skips content negotiation for responses of kubelets and pods. */
function acceptFor(
  resource: Resource,
  info: ResourceRequestInfo,
  accept: string | undefined,
): string | undefined {
  if (isConnectSubresource(info) && info.subresource !== 'log') return undefined
  const shown = isOnlyCreated(resource, info) ? withoutTables(accept) : accept
  return isCustomKind(resource) ? withoutProtobuf(shown) : shown
}

/** True for reviews, bindings, evictions and others that can only be created. */
function isOnlyCreated(resource: Resource, { subresource }: ResourceRequestInfo): boolean {
  const { verbs } = resource.subresources.get(subresource) ?? resource
  return verbs.every(verb => verb === 'create')
}

function notAllowed(resource: Resource, { verb }: ResourceRequestInfo): ApiError {
  return methodNotAllowed({ group: resource.group, kind: resource.plural }, verb)
}
