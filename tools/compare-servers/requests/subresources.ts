/** Every verb of every subresource, as dry runs where it writes. */
import { labelOf, type DiscoveredResource, type Subresource } from '../discovered.ts'
import {
  applyPatch,
  json,
  jsonPatch,
  mergePatch,
  strategicPatch,
  type Body,
  type PlannedRequest,
  type RequestBody,
} from '../request.ts'
import { isStored, requestFor, richName, type PlanContext } from './plan-context.ts'

export function* subresources(context: PlanContext): Generator<PlannedRequest> {
  for (const resource of context.resources) {
    for (const subresource of resource.subresources) {
      // What a proxy or stream answers is up to the node.
      if (isStored(resource) && !/^(?:proxy|exec|attach|portforward|log)$/.test(subresource.name)) {
        yield* subresourceRequests(context, resource, subresource)
      } else {
        yield* streams(context, resource, subresource)
      }
    }
  }
}

function* subresourceRequests(
  context: PlanContext,
  resource: DiscoveredResource,
  subresource: Subresource,
): Generator<PlannedRequest> {
  const { bodies, mutations } = context
  const name = bodies.nameOf(resource, richName)
  const make = (about: string, method: string, body?: RequestBody, query = 'dryRun=All'): PlannedRequest =>
    requestFor(resource, `${subresource.name} ${about}`, {
      method,
      name,
      subresource: subresource.name,
      query,
      ...(body && { body }),
    })
  const { verbs } = subresource
  yield make('get', 'GET', undefined, '')
  yield make('as table', 'GET', undefined, 'pretty=true')
  const missing = { method: 'GET', name: 'compare-none', subresource: subresource.name }
  yield requestFor(resource, `${subresource.name} get of an unknown name`, missing)
  const { body, schema } = bodyOf(context, resource, subresource)
  if (verbs.includes('create')) {
    yield make('create', 'POST', json(body))
    for (const mutation of mutations.of(body, schema))
      yield make(`create ${mutation.about}`, 'POST', json(mutation.body))
  } else {
    yield make('create', 'POST', json(body))
  }
  yield make('update', 'PUT', json(body))
  yield make('update empty', 'PUT', json({}))
  yield make('delete', 'DELETE')
  if (!verbs.includes('patch')) return
  const patch = ownSpecs[subresource.name] ? strategicPatch : mergePatch
  for (const mutation of mutations.of(body, schema))
    yield make(`patch ${mutation.about}`, 'PATCH', patch(withoutName(mutation.body)))
  yield make('patch json', 'PATCH', jsonPatch([{ op: 'add', path: '/status', value: 'x' }]))
  yield make('patch labels', 'PATCH', mergePatch({ metadata: { labels: { new: 'label' } } }))
  yield make('patch spec', 'PATCH', mergePatch({ spec: { unknownField: 1 } }))
  const applied = applyPatch({
    apiVersion: body['apiVersion'],
    kind: body['kind'],
    metadata: { name },
    status: {},
  })
  yield make('apply', 'PATCH', applied, 'dryRun=All&fieldManager=compare')
}

interface Typed {
  readonly body: Body
  readonly schema: ReturnType<PlanContext['schemas']['ofKind']>
}

/** Groups of kinds that are not in the group of the resource. */
const kindGroups: Readonly<Record<string, readonly [string, string]>> = {
  Scale: ['autoscaling', 'v1'],
  Eviction: ['policy', 'v1'],
  TokenRequest: ['authentication.k8s.io', 'v1'],
}

/** Subresources that change a part of the spec. */
const ownSpecs: Readonly<Record<string, Body>> = {
  ephemeralcontainers: {
    ephemeralContainers: [
      { name: 'debug', image: 'example.com/debug:1', targetContainerName: 'main', stdin: true },
    ],
  },
  resize: {
    containers: [
      {
        name: 'main',
        resources: { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '1', memory: '1Gi' } },
      },
    ],
  },
}

/** The body of a subresource: a status with every field of its schema, or an example of its own kind. */
function bodyOf(
  { bodies, schemas }: PlanContext,
  resource: DiscoveredResource,
  subresource: Subresource,
): Typed {
  const [group, version] = kindGroups[subresource.kind] ?? [resource.group, resource.version]
  const kind = { group, version, kind: subresource.kind }
  const schema = schemas.ofKind(kind)
  if (subresource.kind !== resource.kind) return { body: bodies.rich(kind, richName), schema }
  const rich = bodies.rich(resource, richName)
  const spec = ownSpecs[subresource.name]
  if (spec) return { body: { ...typeOf(rich), spec }, schema }
  const status =
    subresource.name === 'status' && schema && schemas.resolve(schema).schema.properties?.['status']
  return { body: status ? { ...typeOf(rich), status: statusOf(schemas, status) } : rich, schema }
}

function typeOf({ apiVersion, kind, metadata }: Body): Body {
  return { apiVersion, kind, metadata }
}

function statusOf(
  schemas: PlanContext['schemas'],
  schema: Parameters<PlanContext['schemas']['derive']>[0],
): Body {
  const { properties = {} } = schemas.resolve(schema).schema
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, schemas.derive(each)]))
}

function withoutName(body: Body): Body {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = body
  return rest
}

/** Requests without an upgrade to subresources that need a node. */
function* streams(
  context: PlanContext,
  resource: DiscoveredResource,
  subresource: Subresource,
): Generator<PlannedRequest> {
  const name = context.bodies.nameOf(resource, richName)
  for (const [about, named] of [
    ['', name],
    [' of an unknown name', 'compare-none'],
  ] as const) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const options = { method, name: named, subresource: subresource.name }
      yield requestFor(resource, `${subresource.name} ${method}${about}`, options)
    }
  }
  if (labelOf(resource) !== 'v1/pods' || subresource.name !== 'log') return
  for (const query of [
    'container=unknown',
    'container=main',
    'tailLines=-1',
    'tailLines=x',
    'limitBytes=0',
    'sinceSeconds=0',
    'sinceTime=x',
    'follow=x',
    'stream=Stdout',
    'stream=Other',
  ]) {
    yield requestFor(resource, `log ?${query}`, { method: 'GET', name, subresource: 'log', query })
  }
}
