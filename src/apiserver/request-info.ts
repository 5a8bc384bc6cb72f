/**
 * The attributes of a request, derived from method, path and query. Audit, limits, authorization and routing
 * all use them and must not parse the request themselves.
 */
import { checkPathSegmentName } from '#/api/names.ts'
import { parseFieldSelector } from '#/api/selectors/field-selector.ts'

export type RequestInfo = ResourceRequestInfo | PathRequestInfo

export interface ResourceRequestInfo {
  readonly isResource: true
  readonly verb: ApiVerb
  readonly path: string
  readonly group: string
  readonly version: string
  /** Empty for requests that are not limited to a namespace. */
  readonly namespace: string
  /** Plural name. */
  readonly resource: string
  readonly subresource: string
  /** Empty for requests on collections. A field selector for metadata.name counts as the name. */
  readonly name: string
  /** The path after the subresource, for proxies. */
  readonly rest: string
  /** True for the deprecated paths `/api/v1/watch/...`. */
  readonly isWatchPath: boolean
}

export interface PathRequestInfo {
  readonly isResource: false
  /** Lowercase HTTP method. */
  readonly verb: string
  readonly path: string
}

export type ApiVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  /** Of methods without a verb, such as OPTIONS. */
  | ''

/** Undefined when the path cannot be decoded. */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo | undefined {
  const segments = decodeSegments(path)
  if (segments === undefined) return undefined
  const target = locate(segments)
  if (target === undefined) return { isResource: false, verb: method.toLowerCase(), path }
  const verb = verbOf(method, target, query)
  const { group, version, namespace, resource, subresource, rest, isWatchPath } = target
  const isSelection = !isWatchPath && (verb === 'list' || verb === 'watch')
  const name = target.name || (isSelection ? selectedName(query) : '')
  // Spelled out, because spreads of this many fields are slow, and every request needs the info.
  return {
    isResource: true,
    verb,
    path,
    group,
    version,
    namespace,
    resource,
    subresource,
    name,
    rest,
    isWatchPath,
  }
}

type Target = Omit<ResourceRequestInfo, 'isResource' | 'verb' | 'path'>

function locate(segments: readonly string[]): Target | undefined {
  const root = segments[0]
  const isCore = root === 'api'
  if (!isCore && root !== 'apis') return undefined
  const versionAt = isCore ? 1 : 2
  const group = isCore ? '' : segments[1]
  const version = segments[versionAt]
  if (group === undefined || version === undefined) return undefined
  const isWatchPath = segments[versionAt + 1] === 'watch' && segments.length > versionAt + 2
  const resourceAt = versionAt + (isWatchPath ? 2 : 1)
  if (segments.length === resourceAt) return undefined
  const namespaceSegments = segmentsOfNamespace(segments, resourceAt)
  const at = resourceAt + namespaceSegments
  const isNamespace = segments[resourceAt] === 'namespaces'
  return {
    group,
    version,
    isWatchPath,
    namespace: isNamespace ? (segments[resourceAt + 1] ?? '') : '',
    resource: segments[at] ?? '',
    name: segments[at + 1] ?? '',
    subresource: segments[at + 2] ?? '',
    rest: segments.length > at + 3 ? segments.slice(at + 3).join('/') : '',
  }
}

/** Subresources of namespaces; any other third segment is a resource in the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize'])

/** 2 if the path leads to a resource in a namespace, 0 if not. */
function segmentsOfNamespace(segments: readonly string[], at: number): number {
  const third = segments[at + 2]
  return segments[at] === 'namespaces' && third !== undefined && !namespaceSubresources.has(third) ? 2 : 0
}

function verbOf(method: string, target: Target, query: URLSearchParams): ApiVerb {
  if (target.isWatchPath) return 'watch'
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (target.name !== '') return 'get'
      return isTrue(query.get('watch')) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return target.name === '' ? 'deletecollection' : 'delete'
    default:
      return ''
  }
}

/** Subresources that are forwarded to a kubelet or pod, which are long-running. */
export function isConnectSubresource({ subresource }: ResourceRequestInfo): boolean {
  return connecting.has(subresource)
}

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** Taking a profile is long-running. */
export function isProfilePath(path: string): boolean {
  return path.startsWith('/debug/pprof/')
}

/** Streams the writes of the cluster; long-running if the client follows. */
export const writesPath = '/k8ts/writes'

/** Parses booleans in queries as Kubernetes does: present without a value means true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function selectedName(query: URLSearchParams): string {
  const text = query.get('fieldSelector')
  if (text === null || !text.includes('metadata.name')) return ''
  try {
    const name = parseFieldSelector(text).requiresExact('metadata.name') ?? ''
    return checkPathSegmentName(name).length === 0 ? name : ''
  } catch {
    // The handler reports the invalid selector.
    return ''
  }
}

function decodeSegments(path: string): readonly string[] | undefined {
  const segments = path.split('/').filter(isPresent)
  if (!path.includes('%')) return segments
  try {
    return segments.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function isPresent(segment: string): boolean {
  return segment !== ''
}
