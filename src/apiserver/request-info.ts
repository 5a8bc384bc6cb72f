/**
 * What a request is about, read from its method, path and query alone. Everything that decides on a request
 * (audit, limits, authorization, routing) decides on this and on nothing it parsed itself.
 */
import { parseFieldSelector } from '#/api/field-selector.ts'

export type RequestInfo = ResourceRequestInfo | PathRequestInfo

export interface ResourceRequestInfo {
  readonly isResource: true
  readonly verb: ApiVerb
  readonly path: string
  readonly group: string
  readonly version: string
  /** Empty for cluster-wide requests. */
  readonly namespace: string
  /** The plural. */
  readonly resource: string
  readonly subresource: string
  /** Empty for requests about many. A field selector that names one object counts as its name. */
  readonly name: string
  /** What follows the subresource: the path to proxy to. */
  readonly rest: string
}

export interface PathRequestInfo {
  readonly isResource: false
  /** The method in lower case. */
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
  /** Only asked of what is behind a proxy. */
  | 'options'

/** Undefined when the path cannot be decoded. */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo | undefined {
  const segments = decodeSegments(path)
  if (segments === undefined) return undefined
  const target = locate(segments)
  if (target === undefined) return { isResource: false, verb: method.toLowerCase(), path }
  const verb = verbOf(method, target, query)
  if (verb === undefined) return { isResource: false, verb: method.toLowerCase(), path }
  const name =
    target.name ||
    (verb === 'list' || verb === 'watch' || verb === 'deletecollection' ? selectedName(query) : '')
  return { isResource: true, verb, path, ...target, name }
}

type Target = Pick<
  ResourceRequestInfo,
  'group' | 'version' | 'namespace' | 'resource' | 'subresource' | 'name' | 'rest'
> & { readonly watch: boolean }

function locate(segments: readonly string[]): Target | undefined {
  const [root, ...rest] = segments
  const isCore = root === 'api'
  if (!isCore && root !== 'apis') return undefined
  const group = isCore ? '' : rest.shift()
  const version = rest.shift()
  if (group === undefined || version === undefined) return undefined
  const watch = rest[0] === 'watch' && rest.length > 1
  if (watch) rest.shift()
  if (rest.length === 0) return undefined
  return { group, version, watch, ...locateResource(rest) }
}

/** Subresources of namespaces themselves; any other third segment is a resource inside the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize'])

function locateResource(segments: readonly string[]): Omit<Target, 'group' | 'version' | 'watch'> {
  const [first = '', second = '', third] = segments
  if (first === 'namespaces' && third !== undefined && !namespaceSubresources.has(third)) {
    const [resource = '', name = '', subresource = '', ...rest] = segments.slice(2)
    return { namespace: second, resource, name, subresource, rest: rest.join('/') }
  }
  const [resource = '', name = '', subresource = '', ...rest] = segments
  return {
    namespace: first === 'namespaces' ? second : '',
    resource,
    name,
    subresource,
    rest: rest.join('/'),
  }
}

function verbOf(method: string, target: Target, query: URLSearchParams): ApiVerb | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (target.watch || (isTrue(query.get('watch')) && target.subresource === '')) return 'watch'
      return target.name === '' ? 'list' : 'get'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return target.name === '' ? 'deletecollection' : 'delete'
    case 'OPTIONS':
      return target.subresource === 'proxy' ? 'options' : undefined
    default:
      return undefined
  }
}

/** Requests that are passed on to a node or a pod: they last as long as somebody has something to say. */
export function isConnecting({ subresource }: ResourceRequestInfo): boolean {
  return connecting.has(subresource)
}

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** As Kubernetes reads booleans in queries: present without a value is true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function selectedName(query: URLSearchParams): string {
  const text = query.get('fieldSelector')
  if (text === null || !text.includes('metadata.name')) return ''
  try {
    return parseFieldSelector(text).requiresExact('metadata.name') ?? ''
  } catch {
    // The handler answers what is wrong with the selector.
    return ''
  }
}

function decodeSegments(path: string): readonly string[] | undefined {
  const segments = path.split('/').filter(segment => segment !== '')
  if (!path.includes('%')) return segments
  try {
    return segments.map(decodeURIComponent)
  } catch {
    return undefined
  }
}
