import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { goJson } from '../documents/go-json.ts'
import { textOf, wrongKind } from '../documents/value.ts'
import { changeFields, type FieldSpec } from '../fields/field-spec.ts'
import { KustomizeError } from '../kustomize-error.ts'
import { identityOf, isClusterScoped } from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'
import type { Resource } from '../resources/resource.ts'

export interface NamespaceOptions {
  readonly namespace: string
  readonly specs: readonly FieldSpec[]
  /** Keeps namespaces that are set. */
  readonly unsetOnly?: boolean
  /** Which subjects of role bindings are moved. */
  readonly setRoleBindingSubjects?: string
}

export function moveToNamespace(resources: ResourceList, options: NamespaceOptions): void {
  if (options.namespace === '') return
  for (const resource of resources) {
    resource.storePreviousId()
    setNamespace(resource, options)
  }
  const byId = Map.groupBy(resources, resource => identityOf(resource.currentId))
  for (const matches of byId.values()) {
    if (matches.length === 1) continue
    const shown = matches.map(({ described }) => goJson(described)).join(' ')
    throw new KustomizeError(`namespace transformation produces ID conflict: [${shown}]`)
  }
}

export function setNamespace(resource: Resource, options: NamespaceOptions): void {
  const change = (value: JsonValue) => changeNamespace(value, options)
  if (!isClusterScoped(resource.gvk)) {
    changeFields(resource, [{ path: 'metadata/namespace', create: true }], {
      change,
      createKind: 'ScalarNode',
    })
  }
  const isBinding = resource.kind === 'RoleBinding' || resource.kind === 'ClusterRoleBinding'
  if (isBinding) setSubjects(resource.object, options)
  const isCore = textOf(get(resource.object, 'apiVersion')) === 'v1'
  const specs = options.specs.filter(({ path, kind = '' }) => {
    if (path === 'metadata/namespace' || (path === 'metadata/name' && !isCore)) return false
    return !(isBinding && path === 'subjects/namespace' && /^(?:Cluster)?RoleBinding$/.test(kind))
  })
  changeFields(resource, specs, { change, createKind: 'ScalarNode' })
}

function changeNamespace(value: JsonValue, { namespace, unsetOnly }: NamespaceOptions): JsonValue {
  if (typeof value === 'object' && value !== null) throw wrongKind('ScalarNode', value)
  return unsetOnly && textOf(value) !== '' ? value : namespace
}

/** Subjects name a namespace of their own; by default only the account `default` follows the binding. */
function setSubjects(binding: JsonObject, options: NamespaceOptions): void {
  const { setRoleBindingSubjects: mode = '' } = options
  if (mode === 'none') return
  const subjects = get(binding, 'subjects') ?? null
  if (subjects === null) return
  if (!Array.isArray(subjects)) throw wrongKind('SequenceNode', subjects)
  for (const subject of subjects) {
    if (!isObject(subject)) continue
    const isMoved =
      mode === 'allServiceAccounts'
        ? get(subject, 'kind') === 'ServiceAccount'
        : textOf(get(subject, 'name')) === 'default'
    if (isMoved) put(subject, 'namespace', changeNamespace(get(subject, 'namespace') ?? null, options))
  }
}

export function checkSubjectMode(mode: string): void {
  if (['', 'defaultOnly', 'none', 'allServiceAccounts'].includes(mode)) return
  const modes = 'must be one of "defaultOnly", "none" or "allServiceAccounts"'
  throw new KustomizeError(`invalid value ${JSON.stringify(mode)} for setRoleBindingSubjects: ${modes}`)
}
