/** Query and path parameters, by action. */
import { assert } from '#/base/assert.ts'
import generated from '#/api/generated/parameters.json' with { type: 'json' }

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly type: string
  readonly description: string
  readonly required: boolean
}

/** Operations share parameters by object identity. */
export const pretty: Parameter = common('pretty')

const writing = ['dryRun', 'fieldManager', 'fieldValidation'].map(common)
const deleting = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
].map(common)
const selecting = [
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
].map(common)
const listing = [...selecting, ...['allowWatchBookmarks', 'watch'].map(common)]

/** By `x-kubernetes-action`. */
export const actionParameters: Readonly<Record<string, readonly Parameter[]>> = {
  get: [],
  list: listing,
  watch: listing,
  watchlist: listing,
  post: writing,
  put: writing,
  patch: [...ownParameters('patch'), ...writing.filter(({ name }) => name !== 'fieldManager')],
  delete: deleting,
  deletecollection: [...selecting, ...deleting],
}

/** Parameters of subresources such as `pods/exec`; most have none. */
export function subresourceParameters(plural: string, subresource: string): readonly Parameter[] {
  return subresources.get(`${plural}/${subresource}`) ?? []
}

export const namespaceParameter: Parameter = inPath(
  'namespace',
  'object name and auth scope, such as for teams and projects',
)

export const pathParameter: Parameter = inPath('path', 'path to the resource')

export function nameParameter(kind: string): Parameter {
  return inPath('name', `name of the ${kind}`)
}

type Facts = Readonly<Record<string, { readonly type: string; readonly documentation: string }>>

function common(name: string): Parameter {
  const fact = (generated.common as Facts)[name]
  assert(fact, `unknown parameter ${name}`)
  return inQuery(name, fact)
}

function ownParameters(owner: string): readonly Parameter[] {
  const facts = (generated as Readonly<Record<string, Facts>>)[owner] ?? {}
  return Object.entries(facts).map(([name, fact]) => inQuery(name, fact))
}

function inQuery(name: string, { type, documentation }: { type: string; documentation: string }): Parameter {
  return { name, in: 'query', type, description: documentation, required: false }
}

function inPath(name: string, description: string): Parameter {
  return { name, in: 'path', type: 'string', description, required: true }
}

const subresources: ReadonlyMap<string, readonly Parameter[]> = new Map(
  Object.keys(generated)
    .filter(owner => owner.includes('/'))
    .map(owner => [owner, ownParameters(owner)]),
)
