/** Query parameters, content types and options of writes, as dry runs. */
import type { DiscoveredResource } from '../discovered.ts'
import {
  applyPatch,
  json,
  jsonPatch,
  mergePatch,
  patchTypes,
  strategicPatch,
  type PlannedRequest,
  type RequestBody,
} from '../request.ts'
import { isStored, ownLabel, ownSelector, requestFor, richName, type PlanContext } from './plan-context.ts'

export function* writeOptions(context: PlanContext): Generator<PlannedRequest> {
  for (const resource of context.resources) {
    const { verbs } = resource
    if (verbs.includes('create')) yield* createOptions(context, resource)
    if (!isStored(resource)) continue
    if (verbs.includes('patch')) yield* patchOptions(context, resource)
    if (verbs.includes('update')) yield* updateOptions(context, resource)
    yield* deleteOptions(context, resource)
  }
}

const writeQueries: readonly string[] = [
  'fieldValidation=Other&dryRun=All',
  'fieldManager=x&dryRun=All',
  `fieldManager=${'x'.repeat(129)}&dryRun=All`,
  'fieldManager=%01&dryRun=All',
  'force=true&dryRun=All',
  'pretty=true&dryRun=All',
]

function* createOptions(context: PlanContext, resource: DiscoveredResource): Generator<PlannedRequest> {
  const content = context.bodies.minimal(resource, 'compare-dry')
  const post = (about: string, query: string, body: RequestBody, accept?: string): PlannedRequest =>
    requestFor(resource, `create ${about}`, {
      method: 'POST',
      query,
      body,
      ...(accept && { headers: { accept } }),
    })
  for (const query of writeQueries) yield post(`?${query.slice(0, 40)}`, query, json(content))
  for (const mediaType of [
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    'application/xml',
    'text/plain',
    'application/json; charset=utf-8',
    'application/cbor',
    '',
    'x',
  ]) {
    yield post(`with content type "${mediaType}"`, 'dryRun=All', { mediaType, content })
  }
  for (const [about, text] of malformed) yield post(`with ${about}`, 'dryRun=All', { ...json(text) })
  yield post('with yaml text', 'dryRun=All', { mediaType: 'application/yaml', content: 'a: [1\n b: : 2' })
  for (const accept of [
    'application/yaml',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    'application/xml',
  ]) {
    yield post(`as ${accept}`, 'dryRun=All', json(content), accept)
  }
  if (resource.isNamespaced && isStored(resource)) {
    const missing = { method: 'POST', namespace: 'nowhere', query: 'dryRun=All', body: json(content) }
    yield requestFor(resource, 'create in an unknown namespace', missing)
    yield requestFor(resource, 'create without a namespace', { ...missing, namespace: '' })
  }
}

const malformed: readonly (readonly [string, string])[] = [
  ['no text', ''],
  ['half an object', '{"kind":'],
  ['a list', '[]'],
  ['a string', '"x"'],
  ['null', 'null'],
  ['an empty object', '{}'],
  ['a duplicate field', '{"kind":"x","kind":"y","metadata":{}}'],
  ['two objects', '{}{}'],
]

function* patchOptions(context: PlanContext, resource: DiscoveredResource): Generator<PlannedRequest> {
  const { bodies } = context
  const name = bodies.nameOf(resource, richName)
  const patch = (about: string, body: RequestBody, query = 'dryRun=All'): PlannedRequest =>
    requestFor(resource, `patch ${about}`, { method: 'PATCH', name, query, body })
  const labelled = { metadata: { labels: { ...ownLabel, new: 'label' } } }
  for (const query of writeQueries) yield patch(`merge ?${query.slice(0, 40)}`, mergePatch(labelled), query)
  for (const [about, text] of malformed) {
    for (const [type, mediaType] of Object.entries(patchTypes)) {
      yield patch(`${type} with ${about}`, { mediaType, content: text }, 'dryRun=All&fieldManager=compare')
    }
  }
  yield patch('of type json body', json(labelled))
  yield patch('of an unknown type', { mediaType: 'application/other', content: labelled })
  yield patch('strategic', strategicPatch(labelled))
  yield patch(
    'strategic with directives',
    strategicPatch({ metadata: { labels: { $patch: 'replace', only: 'x' } } }),
  )
  yield patch('strategic with a wrong directive', strategicPatch({ metadata: { $patch: 'other' } }))
  yield patch('merge with resourceVersion', mergePatch({ metadata: { resourceVersion: '1' } }))
  yield patch('merge with uid', mergePatch({ metadata: { uid: '00000000-0000-0000-0000-000000000001' } }))
  yield patch('merge with name', mergePatch({ metadata: { name: 'other' } }))
  yield patch('merge with kind', mergePatch({ kind: 'Other' }))
  yield patch(
    'merge with unknown field',
    mergePatch({ unknownField: 1 }),
    'dryRun=All&fieldValidation=Strict',
  )
  yield patch('merge with unknown field warned', mergePatch({ unknownField: 1 }))
  yield patch('merge with status', mergePatch({ status: { unknownField: 1 } }))
  yield patch('json', jsonPatch([{ op: 'add', path: '/metadata/labels', value: { new: 'label' } }]))
  yield patch('json test', jsonPatch([{ op: 'test', path: '/metadata/name', value: 'other' }]))
  yield patch('json missing', jsonPatch([{ op: 'remove', path: '/metadata/unknown' }]))
  yield patch(
    'json copy',
    jsonPatch([{ op: 'copy', from: '/metadata/labels', path: '/metadata/annotations' }]),
  )
  yield patch('json wrong op', jsonPatch([{ op: 'other', path: '/x' }]))
  const rich = bodies.rich(resource, richName)
  yield patch('apply', applyPatch(rich), 'dryRun=All&fieldManager=compare&force=true')
  yield patch('apply without force', applyPatch(rich), 'dryRun=All&fieldManager=compare')
  yield patch('apply without a manager', applyPatch(rich))
  yield patch(
    'apply of another name',
    applyPatch(bodies.rich(resource, 'compare-minimal')),
    'dryRun=All&fieldManager=compare',
  )
  const managed = { ...rich, metadata: { name, managedFields: [{}] } }
  yield patch('apply with managed fields', applyPatch(managed), 'dryRun=All&fieldManager=compare')
  const missing = { method: 'PATCH', name: 'compare-none', query: 'dryRun=All', body: mergePatch(labelled) }
  yield requestFor(resource, 'patch of an unknown name', missing)
  // A server that accepts these would change the object.
  for (const query of ['dryRun=all', 'dryRun=', 'dryRun=All&dryRun=Other']) {
    yield requestFor(resource, `patch of an unknown name ?${query}`, { ...missing, query })
  }
}

function* updateOptions(context: PlanContext, resource: DiscoveredResource): Generator<PlannedRequest> {
  const { bodies } = context
  const name = bodies.nameOf(resource, richName)
  const rich = bodies.rich(resource, richName)
  const put = (about: string, content: unknown, query = 'dryRun=All'): PlannedRequest =>
    requestFor(resource, `update ${about}`, { method: 'PUT', name, query, body: json(content) })
  const withMetadata = (metadata: object): unknown => ({ ...rich, metadata: { name, ...metadata } })
  for (const query of writeQueries) yield put(`?${query.slice(0, 40)}`, rich, query)
  yield put('without resourceVersion', rich)
  yield put('with an old resourceVersion', withMetadata({ resourceVersion: '1' }))
  yield put('with an invalid resourceVersion', withMetadata({ resourceVersion: 'x' }))
  yield put('with another uid', withMetadata({ uid: '00000000-0000-0000-0000-000000000001' }))
  yield put('with another name', withMetadata({ name: 'other' }))
  yield put('without a name', withMetadata({ name: undefined }))
  yield put('with another namespace', withMetadata({ namespace: 'other' }))
  yield put('with an unknown field', { ...rich, unknownField: 1 }, 'dryRun=All&fieldValidation=Strict')
  const missing = { ...rich, metadata: { name: 'compare-none' } }
  yield requestFor(resource, 'update of an unknown name', {
    method: 'PUT',
    name: 'compare-none',
    query: 'dryRun=All',
    body: json(missing),
  })
}

/** The query is ignored if there is a body. */
const options = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] }

function* deleteOptions(context: PlanContext, resource: DiscoveredResource): Generator<PlannedRequest> {
  const name = context.bodies.nameOf(resource, richName)
  const remove = (about: string, query: string, content?: unknown): PlannedRequest =>
    requestFor(resource, `delete ${about}`, {
      method: 'DELETE',
      name,
      query: `dryRun=All&${query}`,
      ...(content !== undefined && { body: json(content) }),
    })
  for (const query of [
    '',
    'propagationPolicy=Foreground',
    'propagationPolicy=Orphan',
    'propagationPolicy=Other',
    'orphanDependents=true',
    'orphanDependents=true&propagationPolicy=Orphan',
    'gracePeriodSeconds=0',
    'gracePeriodSeconds=-1',
    'gracePeriodSeconds=x',
    'ignoreStoreReadErrorWithClusterBreakingPotential=true',
    'dryRun=Other',
  ]) {
    yield remove(`?${query}`, query)
  }
  yield remove('with options', '', { ...options, gracePeriodSeconds: 0, propagationPolicy: 'Background' })
  yield remove('with another uid', '', {
    ...options,
    preconditions: { uid: '00000000-0000-0000-0000-000000000001' },
  })
  yield remove('with an old resourceVersion', '', { ...options, preconditions: { resourceVersion: '1' } })
  yield remove('with a wrong policy', '', { ...options, propagationPolicy: 'Other' })
  yield remove('with options in body and query', 'gracePeriodSeconds=5', {
    ...options,
    gracePeriodSeconds: 0,
  })
  yield remove('with another kind', '', { ...options, kind: 'Pod' })
  yield remove('with an unknown field', '', { ...options, unknownField: 1 })
  yield remove('with malformed options', '', '{"kind":')
  yield requestFor(resource, 'delete of an unknown name', {
    method: 'DELETE',
    name: 'compare-none',
    query: 'dryRun=All',
  })
  if (!resource.verbs.includes('deletecollection')) return
  for (const query of [
    'limit=1',
    'labelSelector=Not%20Valid!',
    'fieldSelector=spec.unknown%3Dx',
    'resourceVersion=x',
    'propagationPolicy=Other',
  ]) {
    const own = query.startsWith('labelSelector') ? query : `${query}&${ownSelector}`
    yield requestFor(resource, `deletecollection ?${query}`, { method: 'DELETE', query: `dryRun=All&${own}` })
  }
}
