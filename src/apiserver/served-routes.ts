/**
 * The routes of built-in resources: which methods a path has, and the media types that they consume and produce. A
 * request without a route is refused before its handler runs, with the answers of Kubernetes' HTTP router. Custom
 * resources have no routes; their handlers are chosen by verb.
 */
import { apiError, type ApiError } from '#/api/errors.ts'
import { isCustomKind, type Resource, type Verb } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { patchMediaTypes } from './handlers/read-patch.ts'
import { mediaTypes, streamMediaTypes } from './negotiation.ts'
import type { ResourceRequestInfo } from './request-info.ts'
import type { ApiRequest } from './request.ts'

/** Throws ApiError 404, 405, 415 or 406. */
export function requireRoute(resource: Resource, info: ResourceRequestInfo, request: ApiRequest): void {
  // An encoded slash ends the name in Kubernetes' routes.
  if (info.name.includes('/')) throw noSuchResource()
  const verbs = verbsOf(resource, info)
  const methods = methodsOf(info)
  const verb = methods[request.method]
  if (verb === undefined || !verbs.includes(verb)) {
    const hasPath = Object.values(methods).some(each => verbs.includes(each))
    throw hasPath ? methodNotAllowed() : noSuchResource()
  }
  if (isConnect(info)) return
  if (verb === 'patch' && !isConsumed(request.headers['content-type'] ?? ''))
    throw refusal('UnsupportedMediaType', '415: Unsupported Media Type')
  const offered = info.subresource === 'log' ? logTypes : producedTypes
  if (isProduced(request.headers['accept'] ?? '', offered)) return
  const isMany = verb === 'list' || verb === 'watch'
  throw notProduced(isMany ? [...offered, ...streamMediaTypes] : offered)
}

export const producedTypes: readonly string[] = Object.values(mediaTypes)

const logTypes: readonly string[] = ['text/plain', ...producedTypes]

export function notProduced(offered: readonly string[]): ApiError {
  const text = `406: Not Acceptable\n\nAvailable representations: ${offered.join(', ')}`
  return refusal('NotAcceptable', text)
}

export function isBuiltInGroup(scheme: Scheme, group: string): boolean {
  return scheme.resources().some(resource => resource.group === group && !isCustomKind(resource))
}

export function noSuchResource(): ApiError {
  return refusal('NotFound', 'the server could not find the requested resource')
}

export function methodNotAllowed(): ApiError {
  return refusal('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}

/** The router names no resource in its errors. */
function refusal(reason: Parameters<typeof apiError>[0], message: string): ApiError {
  return apiError(reason, message, {})
}

type Methods = Readonly<Record<string, Verb>>

const collectionMethods: Methods = { GET: 'list', POST: 'create', DELETE: 'deletecollection' }
const objectMethods: Methods = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }
const subresourceMethods: Methods = { ...objectMethods, POST: 'create' }
const proxyMethods: Methods = { ...subresourceMethods, HEAD: 'get', OPTIONS: 'get' }
const watchMethods: Methods = { GET: 'watch' }

function methodsOf(info: ResourceRequestInfo): Methods {
  if (info.isWatchPath) return watchMethods
  if (info.subresource !== '') return info.subresource === 'proxy' ? proxyMethods : subresourceMethods
  if (!isCollection(info)) return objectMethods
  return collectionMethods
}

const noVerbs: readonly Verb[] = []
const onlyList: readonly Verb[] = ['list']

/** The verbs of all paths that differ only in their method. */
function verbsOf(resource: Resource, info: ResourceRequestInfo): readonly Verb[] {
  const { namespace, subresource, name, rest, isWatchPath } = info
  const isCollectionPath = isCollection(info)
  if (resource.scope === 'Cluster') {
    // The path of a Namespace contains its own name as namespace.
    const isInItself = resource.plural === 'namespaces' && namespace === name
    if (namespace !== '' && !isInItself) return noVerbs
  } else if (namespace === '') {
    if (!isCollectionPath) return noVerbs
    if (!isWatchPath) return resource.verbs.includes('list') ? onlyList : noVerbs
  }
  if (subresource === '') return resource.verbs
  if (isWatchPath || (rest !== '' && subresource !== 'proxy')) return noVerbs
  return resource.subresources.get(subresource)?.verbs ?? noVerbs
}

/** True if the path has no name. The name of a list may come from its field selector. */
function isCollection({ verb, name, isWatchPath }: ResourceRequestInfo): boolean {
  return name === '' || (!isWatchPath && (verb === 'list' || verb === 'watch'))
}

/** Responses of kubelets and pods are passed through in any format. */
function isConnect({ subresource }: ResourceRequestInfo): boolean {
  return connecting.has(subresource)
}

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward', 'proxy'])

function isConsumed(contentType: string): boolean {
  const semicolon = contentType.indexOf(';')
  return patchMediaTypes.has(semicolon > 0 ? contentType.slice(0, semicolon) : contentType)
}

/** True if the `Accept` header names one of the types. Of the wildcards, the router knows only one. */
export function isProduced(accept: string, offered: readonly string[]): boolean {
  if (accept === '') return true
  if (offered !== producedTypes) return isNamed(accept, offered)
  const known = producedByAccept.get(accept)
  if (known !== undefined) return known
  const isMatched = isNamed(accept, offered)
  if (producedByAccept.size >= producedMax) producedByAccept.clear()
  producedByAccept.set(accept, isMatched)
  return isMatched
}

/** By `Accept` header, because clients send few different ones. Cleared when full. */
const producedByAccept = new Map<string, boolean>()
const producedMax = 1_000

function isNamed(accept: string, offered: readonly string[]): boolean {
  const names = accept.split(',').map(range => range.split(';', 1)[0]!.trim())
  return names.some(name => name === '*/*' || offered.includes(name))
}
