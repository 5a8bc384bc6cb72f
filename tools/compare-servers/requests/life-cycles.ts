/** The life of one object of every kind, for real. */
import { labelOf, pathOf, type DiscoveredResource } from '../discovered.ts'
import {
  applyPatch,
  json,
  jsonPatch,
  mergePatch,
  strategicPatch,
  type Body,
  type Memory,
  type PlannedRequest,
  type Sequence,
} from '../request.ts'
import {
  isStored,
  ownLabel,
  minimalName,
  ownSelector,
  requestFor,
  richName,
  type PlanContext,
  type RequestOptions,
} from './plan-context.ts'

const lifeName = 'compare-life'
/** Without an owner's finalizers, which only a garbage collector removes. */
const removal = 'gracePeriodSeconds=0&propagationPolicy=Background'

export function lifeCycles(context: PlanContext): readonly Sequence[] {
  return context.resources.filter(isStored).map(resource => lifeCycle(context, resource))
}

function lifeCycle(context: PlanContext, resource: DiscoveredResource): Sequence {
  const name = context.bodies.nameOf(resource, lifeName)
  const minimal = labelled(context.bodies.minimal(resource, lifeName))
  const { apiVersion, kind } = minimal
  const identity = { apiVersion, kind, metadata: { name } }
  const step = (about: string, options: RequestOptions): PlannedRequest =>
    requestFor(resource, `life: ${about}`, { name, ...options })
  const create = (about: string, body: unknown): PlannedRequest =>
    collection(resource, about, { method: 'POST', body: json(body) })
  const patch = (about: string, body: PlannedRequest['body'], query?: string): PlannedRequest =>
    step(about, { method: 'PATCH', ...(body && { body }), ...(query !== undefined && { query }) })
  const applied = (value: string): PlannedRequest['body'] =>
    applyPatch({ ...identity, metadata: { ...identity.metadata, annotations: { shared: value } } })
  const version = ({ object }: Memory): unknown =>
    (object['metadata'] as Body | undefined)?.['resourceVersion']
  const get = (about: string): PlannedRequest => step(about, { method: 'GET' })
  return [
    collection(resource, 'list', { method: 'GET', query: `limit=1&${ownSelector}` }),
    create('create', minimal),
    create('create again', minimal),
    get('get'),
    step('update', { method: 'PUT', body: ({ object }) => json(annotated(object, 'updated')) }),
    step('update without a change', { method: 'PUT', body: ({ object }) => json(object) }),
    step('update with an old version', {
      method: 'PUT',
      body: ({ object }) =>
        json({ ...object, metadata: { ...(object['metadata'] as Body), resourceVersion: '1' } }),
    }),
    patch('json patch', jsonPatch([{ op: 'add', path: '/metadata/annotations/json', value: 'x' }])),
    patch('merge patch', mergePatch({ metadata: { annotations: { merge: 'x', updated: null } } })),
    patch('strategic patch', strategicPatch({ metadata: { annotations: { strategic: 'x' } } })),
    patch('merge patch with the version', memory =>
      mergePatch({ metadata: { resourceVersion: version(memory), annotations: { merge: 'y' } } }),
    ),
    patch('apply', applied('one'), 'fieldManager=one'),
    patch('apply with a conflict', applied('two'), 'fieldManager=two'),
    patch('apply with force', applied('two'), 'fieldManager=two&force=true'),
    patch('apply nothing', applyPatch(identity), 'fieldManager=two'),
    ...subresourceSteps(resource, patch),
    get('get after changes'),
    step('get as table', {
      method: 'GET',
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    }),
    ...deletionSteps({ resource, minimal, step, create, patch }),
    watchSince(resource, minimal),
  ]
}

function* subresourceSteps(
  resource: DiscoveredResource,
  patch: (about: string, body: PlannedRequest['body']) => PlannedRequest,
): Generator<PlannedRequest> {
  for (const { name } of resource.subresources.filter(({ verbs }) => verbs.includes('patch'))) {
    if (/^(?:proxy|approval)$/.test(name)) continue
    const content =
      name === 'scale' ? { spec: { replicas: 0 } } : { metadata: { annotations: { [name]: 'x' } } }
    const request = patch(`patch ${name}`, mergePatch(content))
    const path = `${request.path as string}/${name}`
    yield { ...request, path }
    yield { id: `${labelOf(resource)} life: get ${name}`, resource: labelOf(resource), method: 'GET', path }
  }
}

interface Steps {
  readonly resource: DiscoveredResource
  readonly minimal: Body
  readonly step: (about: string, options: RequestOptions) => PlannedRequest
  readonly create: (about: string, body: unknown) => PlannedRequest
  readonly patch: (about: string, body: PlannedRequest['body']) => PlannedRequest
}

function* deletionSteps({ resource, minimal, step, create, patch }: Steps): Generator<PlannedRequest> {
  const preconditions = { uid: '00000000-0000-0000-0000-000000000001' }
  const metadata = minimal['metadata'] as Body
  yield step('delete with a wrong uid', { method: 'DELETE', body: json({ preconditions }) })
  yield patch('add a finalizer', mergePatch({ metadata: { finalizers: ['example.com/compare'] } }))
  yield step('delete with a finalizer', { method: 'DELETE', query: 'gracePeriodSeconds=0' })
  yield step('get while it is deleted', { method: 'GET' })
  yield patch(
    'add another finalizer',
    mergePatch({ metadata: { finalizers: ['example.com/compare', 'example.com/other'] } }),
  )
  yield patch('remove the finalizer', mergePatch({ metadata: { finalizers: null } }))
  yield step('delete', { method: 'DELETE', query: removal })
  yield step('get after deletion', { method: 'GET' })
  yield create('create once more', minimal)
  yield step('delete with a dry run in the query', {
    method: 'DELETE',
    query: 'dryRun=All',
    body: json({ gracePeriodSeconds: 0 }),
  })
  yield step('get after a dry run in the query', { method: 'GET' })
  yield create('create with generateName', {
    ...minimal,
    metadata: { ...metadata, name: undefined, generateName: 'compare-generated-' },
  })
  if (!resource.verbs.includes('deletecollection')) return
  yield collection(resource, 'deletecollection', {
    method: 'DELETE',
    query: `${removal}&${selectorOf(minimal)}`,
  })
  yield collection(resource, 'list after deletion', {
    method: 'GET',
    query: selectorOf(minimal),
  })
}

/** All events of the object since the first list. */
function watchSince(resource: DiscoveredResource, minimal: Body): PlannedRequest {
  const query = `watch=1&timeoutSeconds=1&${selectorOf(minimal)}`
  return {
    id: `${labelOf(resource)} life: watch`,
    resource: labelOf(resource),
    method: 'GET',
    path: ({ listVersion }) => `${pathOf(resource)}?${query}&resourceVersion=${listVersion}`,
    answer: 'watch',
  }
}

function collection(resource: DiscoveredResource, about: string, options: RequestOptions): PlannedRequest {
  return requestFor(resource, `life: ${about}`, options)
}

function selectorOf({ metadata }: Body): string {
  return `labelSelector=compare-servers%3D${(metadata as { readonly name: string }).name}`
}

/** Objects with a life of their own are not among those that other requests list. */
function labelled(body: Body): Body {
  const metadata = body['metadata'] as Body
  return {
    ...body,
    metadata: { ...metadata, labels: { 'compare-servers': metadata['name'] }, annotations: { note: 'x' } },
  }
}

function annotated(object: Body, name: string): Body {
  const metadata = (object['metadata'] ?? {}) as Body
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...(metadata['annotations'] as Body), [name]: 'x' } },
  }
}

/** Creates the objects that exist while other requests are sent. */
export function fixtures(context: PlanContext): readonly PlannedRequest[] {
  return context.resources.filter(isStored).flatMap(resource =>
    [richName, minimalName].map((name, index) => {
      const body = index === 0 ? context.bodies.rich(resource, name) : context.bodies.minimal(resource, name)
      const metadata = body['metadata'] as Body
      const own = {
        ...body,
        metadata: { ...metadata, labels: { ...(metadata['labels'] as Body), ...ownLabel } },
      }
      return requestFor(resource, `fixture ${index === 0 ? 'rich' : 'minimal'}`, {
        method: 'POST',
        body: json(own),
      })
    }),
  )
}
