/** Common parts of the operations on resources. */
import type { GroupVersionKind, Resource, Verb } from '#/api/resource.ts'
import { mediaTypes } from '../negotiation.ts'
import { isBuiltin, metaDefinition } from './definition-names.ts'
import { capitalize, groupIdentifier, tagOf } from './operation-names.ts'
import { sortParameters, type Method, type Operation } from './operation.ts'
import { actionParameters, nameParameter, namespaceParameter, pretty, type Parameter } from './parameters.ts'

export interface Draft {
  readonly verb: string
  readonly action: string
  readonly method: Method
  /** Suffix of the operation id, after group and version. */
  readonly subject: string
  readonly description: string
  readonly kind?: GroupVersionKind
  readonly parameters: readonly Parameter[]
  readonly body?: Operation['body']
  readonly responses: Readonly<Record<string, string>>
  readonly consumes?: readonly string[]
  readonly produces?: readonly string[]
}

export function operationOf(resource: Resource, draft: Draft): Operation {
  const { group, version, kind } = resource
  const { verb, subject, parameters, consumes = ['*/*'], produces = formsOf(resource), ...rest } = draft
  return {
    ...rest,
    id: `${verb}${groupIdentifier(group)}${capitalize(version)}${subject}`,
    tag: tagOf(group, version),
    kind: draft.kind ?? { group, version, kind },
    consumes,
    produces,
    parameters: sortParameters(parameters),
  }
}

/** Media types of objects. */
export function formsOf(resource: Resource): readonly string[] {
  const { json, yaml, protobuf } = mediaTypes
  return isBuiltin(resource) ? [json, yaml, protobuf] : [json, yaml]
}

export function watchFormsOf(resource: Resource): readonly string[] {
  const { json, protobuf } = mediaTypes
  const streams = isBuiltin(resource) ? [json, protobuf] : [json]
  return [...formsOf(resource), ...streams.map(each => `${each};stream=watch`)]
}

function patchFormsOf(resource: Resource): readonly string[] {
  return [
    'application/json-patch+json',
    'application/merge-patch+json',
    ...(isBuiltin(resource) ? ['application/strategic-merge-patch+json'] : []),
    'application/apply-patch+yaml',
  ]
}

/** Base path of a group version: `/apis/apps/v1`. */
export function rootOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

/** E.g. `NamespacedPod`. */
export function subjectOf({ scope, kind }: Resource): string {
  return scope === 'Namespaced' ? `Namespaced${kind}` : kind
}

export function served(
  resource: Resource,
  verbs: readonly Verb[],
  drafts: Partial<Readonly<Record<Verb, Draft>>>,
): readonly Operation[] {
  return verbs.flatMap(verb => {
    const draft = drafts[verb]
    return draft ? [operationOf(resource, draft)] : []
  })
}

interface Part {
  /** Name of the subresource; empty for the object itself. */
  readonly name: string
  readonly groupVersionKind: GroupVersionKind
  readonly definition: string
}

/** The get, update and patch operations of an object or subresource. */
export function readAndWrite(resource: Resource, part: Part): Partial<Record<Verb, Draft>> {
  const { definition, name } = part
  const { group, version, kind } = part.groupVersionKind
  const what = name === '' ? `the specified ${resource.kind}` : `${name} of the specified ${resource.kind}`
  const parameters = [...itemParameters(resource, kind), pretty]
  const shared = { subject: subjectOf(resource) + capitalize(name), kind: { group, version, kind } }
  return {
    get: {
      ...shared,
      verb: 'read',
      action: 'get',
      method: 'get',
      description: `read ${what}`,
      parameters,
      responses: { 200: definition },
    },
    update: {
      ...shared,
      verb: 'replace',
      action: 'put',
      method: 'put',
      description: `replace ${what}`,
      parameters: [...parameters, ...(actionParameters.put ?? [])],
      body: { definition, required: true },
      responses: { 200: definition, 201: definition },
    },
    patch: {
      ...shared,
      verb: 'patch',
      action: 'patch',
      method: 'patch',
      description: `partially update ${what}`,
      parameters: [...parameters, ...(actionParameters.patch ?? [])],
      body: { definition: metaDefinition('Patch'), required: true },
      responses: { 200: definition, 201: definition },
      consumes: patchFormsOf(resource),
    },
  }
}

export function itemParameters({ scope }: Resource, kind: string): readonly Parameter[] {
  return scope === 'Namespaced' ? [nameParameter(kind), namespaceParameter] : [nameParameter(kind)]
}
