/** Reads with all query parameters and headers, and methods that resources do not have. */
import { labelOf, type DiscoveredResource } from '../discovered.ts'
import { json, type PlannedRequest } from '../request.ts'
import { ownSelector, requestFor, richName, type PlanContext } from './plan-context.ts'

export function* reads(context: PlanContext): Generator<PlannedRequest> {
  for (const resource of context.resources) {
    const name = context.bodies.nameOf(resource, richName)
    if (resource.verbs.includes('list')) yield* lists(resource)
    if (resource.verbs.includes('watch')) yield* watches(resource, name)
    if (resource.verbs.includes('get')) yield* gets(resource, name)
    yield* otherMethods(resource, name)
    yield* forbidden(resource, name)
  }
}

/** Without old versions: when a server compacts its history is its own decision. */
const listQueries: readonly string[] = [
  'limit=1',
  'limit=0',
  'limit=-1',
  'limit=x',
  'limit=500',
  'continue=x',
  'continue=x&resourceVersion=1',
  'resourceVersion=0',
  'resourceVersion=x',
  'resourceVersion=-1',
  'resourceVersion=0&resourceVersionMatch=NotOlderThan',
  'resourceVersion=0&resourceVersionMatch=Exact',
  'resourceVersionMatch=Exact',
  'resourceVersion=0&resourceVersionMatch=Other',
  'resourceVersion=99999999999&timeoutSeconds=1',
  'labelSelector=app',
  'labelSelector=!app',
  'labelSelector=app%20in%20(compare,other)',
  'labelSelector=app%20notin%20(other)',
  'labelSelector=app%3D%3Dcompare',
  'labelSelector=app%3D',
  'labelSelector=app%20in',
  'labelSelector=Not%20Valid!',
  'labelSelector=a%3Db%3Dc',
  'fieldSelector=metadata.name%3Dcompare-rich',
  'fieldSelector=metadata.name!%3Dcompare-rich',
  'fieldSelector=metadata.namespace%3Dcompare-servers',
  'fieldSelector=metadata.name%3Da,metadata.name%3Db',
  'fieldSelector=spec.unknown%3Dx',
  'fieldSelector=x',
  'timeoutSeconds=x',
  'timeoutSeconds=-1',
  'allowWatchBookmarks=true',
  'sendInitialEvents=true',
  'pretty=true',
  'pretty=x',
  'unknownParameter=1',
]

function* lists(resource: DiscoveredResource): Generator<PlannedRequest> {
  yield requestFor(resource, 'list', { method: 'GET' })
  if (resource.isNamespaced) {
    yield requestFor(resource, 'list of all namespaces', { method: 'GET', namespace: '' })
    yield requestFor(resource, 'list of an unknown namespace', { method: 'GET', namespace: 'nowhere' })
  }
  for (const query of listQueries) {
    // Other objects of the cluster are not listed.
    const own = query.startsWith('labelSelector') || resource.isNamespaced ? query : `${query}&${ownSelector}`
    yield requestFor(resource, `list ?${query}`, { method: 'GET', query: own })
  }
  for (const accept of accepts) {
    yield requestFor(resource, `list as ${accept}`, {
      method: 'GET',
      query: ownSelector,
      headers: { accept },
    })
  }
  for (const includeObject of ['None', 'Metadata', 'Object', 'Other']) {
    const query = `includeObject=${includeObject}&${ownSelector}`
    yield requestFor(resource, `list table ?includeObject=${includeObject}`, {
      method: 'GET',
      query,
      headers: { accept: table },
    })
  }
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'

const accepts: readonly string[] = [
  table,
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io',
  'application/json;as=Table;v=v9;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=Other;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf, application/json',
  'application/yaml',
  'application/cbor',
  'application/xml',
  'text/html, */*;q=0.1',
  'text/*',
  'application/*',
  'not a media type',
]

function* gets(resource: DiscoveredResource, name: string): Generator<PlannedRequest> {
  yield requestFor(resource, 'get', { method: 'GET', name })
  yield requestFor(resource, 'get of an unknown name', { method: 'GET', name: 'nowhere' })
  yield requestFor(resource, 'get of an invalid name', { method: 'GET', name: 'Not%20Valid!' })
  for (const query of [
    'resourceVersion=0',
    'resourceVersion=x',
    'resourceVersion=99999999999',
    'pretty=true',
    'pretty=0',
    'export=true',
  ]) {
    yield requestFor(resource, `get ?${query}`, { method: 'GET', name, query })
  }
  for (const accept of accepts) {
    yield requestFor(resource, `get as ${accept}`, { method: 'GET', name, headers: { accept } })
  }
}

const watchQueries: readonly string[] = [
  'resourceVersion=0',
  'resourceVersion=0&allowWatchBookmarks=true',
  'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
  'sendInitialEvents=true',
  'sendInitialEvents=true&allowWatchBookmarks=true',
  'sendInitialEvents=false&resourceVersionMatch=NotOlderThan',
  'resourceVersionMatch=NotOlderThan',
  'resourceVersion=x',
  'limit=1&resourceVersion=0',
  'continue=x',
  'fieldSelector=spec.unknown%3Dx',
  'labelSelector=Not%20Valid!',
]

function* watches(resource: DiscoveredResource, name: string): Generator<PlannedRequest> {
  const options = { method: 'GET', answer: 'watch' } as const
  const own = (query: string): string => {
    return `watch=1&timeoutSeconds=1&${query}${query.includes('Selector') ? '' : `&${ownSelector}`}`
  }
  for (const query of watchQueries) {
    yield requestFor(resource, `watch ?${query}`, { ...options, query: own(query) })
  }
  const accept = table
  yield requestFor(resource, 'watch as table', {
    ...options,
    query: own('resourceVersion=0'),
    headers: { accept },
  })
  const xml = { accept: 'application/xml' }
  yield requestFor(resource, 'watch as xml', { ...options, query: own('resourceVersion=0'), headers: xml })
  yield requestFor(resource, 'watch ?watch=x', {
    ...options,
    query: `watch=x&timeoutSeconds=1&${ownSelector}`,
  })
  yield* watchPaths(resource, name)
}

/** The old paths of watches. */
function* watchPaths(resource: DiscoveredResource, name: string): Generator<PlannedRequest> {
  const old = (about: string, method: string, named: boolean): PlannedRequest => {
    const query = `timeoutSeconds=1&resourceVersion=0&dryRun=All&${ownSelector}`
    const request = requestFor(resource, `${about} watch path`, {
      method,
      query,
      answer: 'watch',
      ...(named && { name }),
    })
    return {
      ...request,
      path: (request.path as string).replace(/^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)/, '$1/watch'),
    }
  }
  yield old('get', 'GET', false)
  yield old('get named', 'GET', true)
  yield old('post', 'POST', false)
  yield old('delete named', 'DELETE', true)
}

function* otherMethods(resource: DiscoveredResource, name: string): Generator<PlannedRequest> {
  const body = json({})
  for (const method of ['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'OTHER']) {
    const isWrite = method === 'PUT' || method === 'PATCH'
    yield requestFor(resource, `${method} collection`, {
      method,
      query: 'dryRun=All',
      ...(isWrite && { body }),
    })
  }
  for (const method of ['POST', 'HEAD', 'OPTIONS', 'OTHER']) {
    yield requestFor(resource, `${method} object`, {
      method,
      name,
      query: 'dryRun=All',
      ...(method === 'POST' && { body }),
    })
  }
  yield requestFor(resource, 'unknown subresource', { method: 'GET', name, subresource: 'unknown' })
  yield requestFor(resource, 'trailing slash', { method: 'GET', name: '', query: ownSelector })
}

/** A user without any rights; group and user of the tool itself are replaced. */
const otherUser = {
  'impersonate-user': 'compare-servers:other',
  'impersonate-group': 'compare-servers:others',
}

function* forbidden(resource: DiscoveredResource, name: string): Generator<PlannedRequest> {
  const headers = otherUser
  const dry = { query: 'dryRun=All', headers }
  yield requestFor(resource, 'list as another user', { method: 'GET', headers })
  yield requestFor(resource, 'get as another user', { method: 'GET', name, headers })
  yield requestFor(resource, 'create as another user', {
    method: 'POST',
    body: json({ kind: labelOf(resource) }),
    ...dry,
  })
  yield requestFor(resource, 'delete as another user', { method: 'DELETE', name, ...dry })
  yield requestFor(resource, 'deletecollection as another user', { method: 'DELETE', ...dry })
  yield requestFor(resource, 'watch as another user', { method: 'GET', query: 'watch=1', headers })
}
