/** The paths of subresources. */
import type { Resource, Subresource, Verb } from '#/api/resource.ts'
import { definitionOf, definitionOfKind } from './definition-names.ts'
import {
  formsOf,
  itemParameters,
  operationOf,
  readAndWrite,
  rootOf,
  served,
  subjectOf,
  type Draft,
} from './operation-draft.ts'
import { capitalize, withArticle } from './operation-names.ts'
import type { Method, Operation, Path } from './operation.ts'
import {
  actionParameters,
  pathParameter,
  pretty,
  subresourceParameters,
  type Parameter,
} from './parameters.ts'

export function subresourcePaths(resource: Resource, part: Subresource): readonly Path[] {
  const { plural, scope } = resource
  const place = scope === 'Namespaced' ? `namespaces/{namespace}/${plural}` : plural
  const path = `${rootOf(resource)}/${place}/{name}/${part.name}`
  if (part.kind.endsWith('Options')) return connectPaths(resource, part, path)
  return [{ path, operations: subresourceOperations(resource, part) }]
}

function subresourceOperations(resource: Resource, part: Subresource): readonly Operation[] {
  const { name, verbs, group, version, kind } = part
  const groupVersionKind = { group, version, kind }
  const definition = kind === resource.kind ? definitionOf(resource) : definitionOfKind(groupVersionKind)
  const drafts = readAndWrite(resource, { name, groupVersionKind, definition })
  if (name === 'log') return served(resource, verbs, { get: logDraft(resource, drafts.get) })
  return served(resource, verbs, {
    ...drafts,
    create: {
      verb: 'create',
      action: 'post',
      method: 'post',
      subject: subjectOf(resource) + capitalize(name),
      kind: groupVersionKind,
      description: `create ${name} of ${withArticle(resource.kind)}`,
      parameters: [...itemParameters(resource, kind), pretty, ...(actionParameters.post ?? [])],
      body: { definition, required: true },
      responses: { 200: definition, 201: definition, 202: definition },
    },
  })
}

/** A log is text rather than an object. */
function logDraft(resource: Resource, draft: Draft | undefined): Draft | undefined {
  return (
    draft && {
      ...draft,
      parameters: [...draft.parameters, ...subresourceParameters(resource.plural, 'log')],
      responses: { 200: 'string' },
      produces: ['text/plain', ...formsOf(resource)],
    }
  )
}

const connectMethods: Partial<Readonly<Record<Verb, readonly Method[]>>> = {
  get: ['get', 'head', 'options'],
  create: ['post'],
  update: ['put'],
  patch: ['patch'],
  delete: ['delete'],
}

/** Connect subresources accept every method that their verbs allow; `proxy` also accepts a path suffix. */
function connectPaths(resource: Resource, part: Subresource, path: string): readonly Path[] {
  const isProxy = part.verbs.includes('delete')
  const methods = part.verbs
    .flatMap(verb => connectMethods[verb] ?? [])
    .filter(method => isProxy || (method !== 'head' && method !== 'options'))
  const operations = (suffix: string, more: readonly Parameter[]): readonly Operation[] =>
    methods.map(method =>
      operationOf(resource, {
        verb: 'connect',
        action: 'connect',
        method,
        subject: capitalize(method) + subjectOf(resource) + capitalize(part.name) + suffix,
        kind: { group: part.group, version: part.version, kind: part.kind },
        description: `connect ${method.toUpperCase()} requests to ${part.name} of ${resource.kind}`,
        parameters: [
          ...itemParameters(resource, part.kind),
          ...subresourceParameters(resource.plural, part.name),
          ...more,
        ],
        responses: { 200: 'string' },
        produces: ['*/*'],
      }),
    )
  return [
    { path, operations: operations('', []) },
    ...(isProxy ? [{ path: `${path}/{path}`, operations: operations('WithPath', [pathParameter]) }] : []),
  ]
}
