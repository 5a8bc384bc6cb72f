/** Creates with valid and mutated bodies and patches of existing objects, all as dry runs. */
import type { DiscoveredResource } from '../discovered.ts'
import { json, mergePatch, type Body, type PlannedRequest } from '../request.ts'
import { updatePatches } from '../update-patches.ts'
import { isStored, requestFor, richName, type PlanContext } from './plan-context.ts'

/** The name of objects of dry runs. */
const dryName = 'compare-dry'

export function* writes(context: PlanContext): Generator<PlannedRequest> {
  for (const resource of context.resources) {
    if (resource.verbs.includes('create')) yield* creates(context, resource)
    if (resource.verbs.includes('patch') && isStored(resource)) yield* patches(context, resource)
  }
}

function* creates(context: PlanContext, resource: DiscoveredResource): Generator<PlannedRequest> {
  const { bodies, mutations, schemas } = context
  const post = (about: string, content: unknown, query = 'dryRun=All'): PlannedRequest =>
    requestFor(resource, `create ${about}`, { method: 'POST', query, body: json(content) })
  const isNamed = resource.verbs.includes('get') || resource.kind === 'Binding'
  const rich = isNamed ? bodies.rich(resource, dryName) : withoutMetadata(bodies.rich(resource, dryName))
  const minimal = bodies.minimal(resource, dryName)
  yield post('minimal', isNamed ? minimal : withoutMetadata(minimal))
  yield post('rich', rich)
  yield post('strict', { ...rich, unknownField: 1 }, 'dryRun=All&fieldValidation=Strict')
  yield post('ignore', { ...rich, unknownField: 1 }, 'dryRun=All&fieldValidation=Ignore')
  for (const [about, body] of metadataCases(rich)) yield post(about, body)
  for (const { about, body } of mutations.of(rich, schemas.ofKind(resource)))
    yield post(`rich: ${about}`, body)
}

/** Reviews have no metadata. */
function withoutMetadata({ metadata: _metadata, ...body }: Body): Body {
  return body
}

const owner = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'one',
  uid: '00000000-0000-0000-0000-000000000001',
}

/** Rules about metadata and type are those of all kinds, but each kind may forget one. */
function metadataCases(body: Body): readonly (readonly [string, Body])[] {
  const metadata = (body['metadata'] ?? {}) as Body
  const { name: _name, ...nameless } = metadata
  const withMetadata = (about: string, changes: Body): readonly [string, Body] => [
    `metadata ${about}`,
    { ...body, metadata: { ...metadata, ...changes } },
  ]
  return [
    ['without metadata.name', { ...body, metadata: nameless }],
    ['with generateName', { ...body, metadata: { ...nameless, generateName: 'compare-generated-' } }],
    withMetadata('in another namespace', { namespace: 'other' }),
    withMetadata('with an invalid name', { name: 'A_B' }),
    withMetadata('with a name with a slash', { name: 'a/b' }),
    withMetadata('with a long name', { name: 'a'.repeat(254) }),
    withMetadata('with labels', { labels: { 'a/b/c': 'x', 'good': 'not good!' } }),
    withMetadata('with annotations', { annotations: { 'Not Valid!': 'x', 'big': 'x'.repeat(300_000) } }),
    withMetadata('with finalizers', { finalizers: ['plain', 'example.com/one'] }),
    withMetadata('with an owner', { ownerReferences: [owner] }),
    withMetadata('with two controllers', {
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, name: 'two', controller: true },
      ],
    }),
    withMetadata('with an incomplete owner', { ownerReferences: [{ kind: 'ConfigMap' }] }),
    withMetadata('with resourceVersion', { resourceVersion: '1' }),
    withMetadata('with managedFields', { managedFields: [{ manager: 'x', operation: 'Wrong' }] }),
    withMetadata('with server fields', {
      uid: '00000000-0000-0000-0000-000000000001',
      generation: 7,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      selfLink: '/x',
    }),
    ['without kind', { ...body, kind: undefined }],
    ['without apiVersion', { ...body, apiVersion: undefined }],
    ['of another kind', { ...body, kind: 'Other' }],
    ['of another version', { ...body, apiVersion: 'v9' }],
    ['with a status', { ...body, status: { unknownField: 1 } }],
  ]
}

function* patches(context: PlanContext, resource: DiscoveredResource): Generator<PlannedRequest> {
  const name = context.bodies.nameOf(resource, richName)
  const rich = context.bodies.rich(resource, richName)
  for (const { about, patch } of updatePatches(rich)) {
    yield requestFor(resource, `patch rich: ${about}`, {
      method: 'PATCH',
      name,
      query: 'dryRun=All',
      body: mergePatch(patch),
    })
  }
}
