/**
 * The paths and operations of a resource, derived from its verbs, scope and subresources. Custom resources
 * differ only in their media types.
 */
import type { Resource, Verb } from '#/api/resource.ts'
import { definitionOf, listDefinitionOf, metaDefinition } from './definition-names.ts'
import {
  itemParameters,
  operationOf,
  readAndWrite,
  rootOf,
  served,
  subjectOf,
  watchFormsOf,
  type Draft,
} from './operation-draft.ts'
import { withArticle } from './operation-names.ts'
import type { Operation, Path } from './operation.ts'
import { actionParameters, namespaceParameter, pretty, type Parameter } from './parameters.ts'
import { subresourcePaths } from './subresource-paths.ts'
import { watchPaths } from './watch-paths.ts'

export function resourcePaths(resource: Resource): readonly Path[] {
  const paths = [...objectPaths(resource), ...watchPaths(resource)]
  for (const part of resource.subresources.values()) paths.push(...subresourcePaths(resource, part))
  return paths.filter(({ operations }) => operations.length > 0)
}

function objectPaths(resource: Resource): readonly Path[] {
  const { plural, verbs, scope, kind } = resource
  const root = rootOf(resource)
  if (scope === 'Cluster') {
    return [
      { path: `${root}/${plural}`, operations: collectionOperations(resource, []) },
      { path: `${root}/${plural}/{name}`, operations: itemOperations(resource) },
    ]
  }
  const inNamespace = `${root}/namespaces/{namespace}/${plural}`
  const acrossAll = verbs.includes('list')
    ? [operationOf(resource, { ...listDraft(resource, []), subject: `${kind}ForAllNamespaces` })]
    : []
  return [
    { path: `${root}/${plural}`, operations: acrossAll },
    { path: inNamespace, operations: collectionOperations(resource, [namespaceParameter]) },
    { path: `${inNamespace}/{name}`, operations: itemOperations(resource) },
  ]
}

function listDraft(resource: Resource, place: readonly Parameter[]): Draft {
  const { kind, verbs } = resource
  return {
    verb: 'list',
    action: 'list',
    method: 'get',
    subject: subjectOf(resource),
    description: `${verbs.includes('watch') ? 'list or watch' : 'list'} objects of kind ${kind}`,
    parameters: [...place, pretty, ...(actionParameters.list ?? [])],
    responses: { 200: listDefinitionOf(resource) },
    produces: watchFormsOf(resource),
  }
}

function collectionOperations(resource: Resource, place: readonly Parameter[]): readonly Operation[] {
  const { kind } = resource
  const definition = definitionOf(resource)
  const drafts: Partial<Record<Verb, Draft>> = {
    list: listDraft(resource, place),
    create: {
      verb: 'create',
      action: 'post',
      method: 'post',
      subject: subjectOf(resource),
      description: `create ${withArticle(kind)}`,
      parameters: [...place, pretty, ...(actionParameters.post ?? [])],
      body: { definition, required: true },
      responses: { 200: definition, 201: definition, 202: definition },
    },
    deletecollection: {
      verb: 'delete',
      action: 'deletecollection',
      method: 'delete',
      subject: `Collection${subjectOf(resource)}`,
      description: `delete collection of ${kind}`,
      parameters: [...place, pretty, ...(actionParameters.deletecollection ?? [])],
      body: { definition: metaDefinition('DeleteOptions'), required: false },
      responses: { 200: metaDefinition('Status') },
    },
  }
  return served(resource, resource.verbs, drafts)
}

function itemOperations(resource: Resource): readonly Operation[] {
  const { kind, rules } = resource
  const deleted = rules?.returnDeletedObject === true ? definitionOf(resource) : metaDefinition('Status')
  const drafts: Partial<Record<Verb, Draft>> = {
    ...readAndWrite(resource, { name: '', groupVersionKind: resource, definition: definitionOf(resource) }),
    delete: {
      verb: 'delete',
      action: 'delete',
      method: 'delete',
      subject: subjectOf(resource),
      description: `delete ${withArticle(kind)}`,
      parameters: [...itemParameters(resource, kind), pretty, ...(actionParameters.delete ?? [])],
      body: { definition: metaDefinition('DeleteOptions'), required: false },
      responses: { 200: deleted, 202: deleted },
    },
  }
  return served(resource, resource.verbs, drafts)
}
