import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { textOf } from '../documents/value.ts'
import type { NameReference } from '../fields/configuration.ts'
import { changeField, type FieldSpec } from '../fields/field-spec.ts'
import { KustomizeError } from '../kustomize-error.ts'
import {
  effectiveNamespace,
  formatId,
  isClusterScoped,
  isSelected,
  noNamespace,
  type Gvk,
} from '../resources/resource-id.ts'
import type { Resource } from '../resources/resource.ts'

/** Gives references to resources that were renamed or moved their new names and namespaces. */
export function updateNameReferences(
  resources: Iterable<Resource>,
  references: readonly NameReference[],
): void {
  const all = [...resources]
  const index = { byFormerName: indexByFormerName(all), byFormerNamespace: indexByFormerNamespace(all) }
  for (const referrer of all) {
    const id = referrer.originalId
    const namespaces = subjectNamespaces(referrer)
    for (const { fieldSpecs = [], ...target } of references) {
      for (const spec of fieldSpecs.filter(each => isSelected(id, each))) {
        const search: Search = { referrer, namespaces, spec, target, index }
        updateField(search)
      }
    }
  }
}

interface Index {
  /** Only resources that have a history have new names. */
  readonly byFormerName: ReadonlyMap<string, readonly Resource[]>
  readonly byFormerNamespace: ReadonlyMap<string, readonly Resource[]>
}

function indexByFormerName(resources: readonly Resource[]): Index['byFormerName'] {
  const byName = new Map<string, Resource[]>()
  for (const resource of resources) {
    for (const name of new Set(resource.previousIds.map(id => id.name))) {
      byName.getOrInsertComputed(name, () => []).push(resource)
    }
  }
  return byName
}

function indexByFormerNamespace(resources: readonly Resource[]): Index['byFormerNamespace'] {
  return Map.groupBy(resources, resource => effectiveNamespace(resource.originalId))
}

interface Search {
  readonly referrer: Resource
  /** Other namespaces whose resources it may reference. */
  readonly namespaces: ReadonlySet<string>
  readonly spec: FieldSpec
  readonly target: Partial<Gvk>
  readonly index: Index
}

function updateField(search: Search): void {
  const { referrer, spec } = search
  const { group: _group, version: _version, kind: _kind, ...anyKind } = spec
  try {
    changeField(referrer, anyKind, { change: value => update(search, value) })
  } catch (error) {
    if (!(error instanceof KustomizeError)) throw error
    const field = `'${spec.path ?? ''}' field of '${formatId(referrer.currentId)}'`
    throw new KustomizeError(`updating name reference in ${field}: ${error.message}`, { cause: error })
  }
}

function update(search: Search, value: JsonValue): JsonValue {
  if (value === null) return value
  if (Array.isArray(value)) return value.map(item => updateItem(search, item))
  return updateItem(search, value)
}

function updateItem(search: Search, item: JsonValue): JsonValue {
  if (item === null) return item
  if (Array.isArray(item))
    throw new KustomizeError('a list is expected to be either a string or a map of string')
  if (isObject(item)) {
    updateMap(search, item)
    return item
  }
  const referral = selectReferral(search, textOf(item), undefined)
  return referral === undefined || referral.name === textOf(item) ? item : referral.name
}

/** A reference with a name and, possibly, a namespace. */
function updateMap(search: Search, reference: JsonObject): void {
  const name = get(reference, 'name') ?? null
  if (name === null) throw new KustomizeError("path config error; no 'name' field in node")
  const namespace = get(reference, 'namespace') ?? undefined
  const within = namespace === undefined ? anyNamespace : textOf(namespace)
  const referral = selectReferral(search, textOf(name), within)
  if (referral === undefined) return
  if (referral.name === textOf(name) && referral.namespace === '') return
  put(reference, 'name', referral.name)
  if (referral.namespace !== '') put(reference, 'namespace', referral.namespace)
}

const anyNamespace = Symbol('any namespace')

/** The only resource that a name can refer to; undefined if there is none. */
function selectReferral(
  search: Search,
  name: string,
  within: string | typeof anyNamespace | undefined,
): Resource | undefined {
  const { referrer, target, index } = search
  const named = (index.byFormerName.get(name) ?? []).filter(each => mayReference(search, each))
  const role = roleOf(search)
  const candidates = inNamespace(search, named, within).filter(candidate => {
    const ids = candidate.previousIds
    if (!ids.some(id => isSelected(id, target))) return false
    if (role !== undefined && !ids.some(id => isSelected(id, role))) return false
    return isInScope(referrer, candidate)
  })
  if (candidates.length <= 1) return candidates[0]
  const similar = candidates.filter(each => hasSameAffixes(each, referrer, true))
  const same = similar.length > 1 ? similar.filter(each => hasSameAffixes(each, referrer, false)) : similar
  const [first] = same
  if (first === undefined) return undefined
  const isMap = within !== undefined
  const isUnique = same.every(
    each => each.name === first.name && (!isMap || each.namespace === first.namespace),
  )
  if (isUnique) return first
  throw ambiguous(referrer, same)
}

function ambiguous(referrer: Resource, candidates: readonly Resource[]): KustomizeError {
  const ids = candidates.map(each => formatId(each.currentId)).join(', ')
  const heading = `**** Too many possible referral targets to referrer:\n${stringifyYaml(referrer.object)}\n`
  const list = candidates
    .map((each, index) => `--- possible referral ${index}:\n${stringifyYaml(each.object)}\n`)
    .join('')
  return new KustomizeError(`found multiple possible referrals: ${ids}\n\n${heading}${list}`)
}

/** Cluster-scoped resources may reference all, others those of their namespace and cluster-scoped ones. */
function mayReference({ referrer, namespaces }: Search, candidate: Resource): boolean {
  const from = effectiveNamespace(referrer.currentId)
  const to = effectiveNamespace(candidate.currentId)
  return from === noNamespace || to === noNamespace || from === to || namespaces.has(candidate.namespace)
}

function subjectNamespaces({ kind, object, currentId }: Resource): ReadonlySet<string> {
  const namespaces = new Set<string>()
  const subjects = kind === 'RoleBinding' ? get(object, 'subjects') : undefined
  for (const subject of Array.isArray(subjects) ? subjects : []) {
    if (!isObject(subject) || get(subject, 'kind') !== 'ServiceAccount') continue
    const namespace = get(subject, 'namespace')
    if (namespace === undefined) continue
    if (typeof namespace !== 'string') {
      throw new KustomizeError(`Invalid Input: namespace is blank for resource "${formatId(currentId)}"\n`)
    }
    namespaces.add(namespace)
  }
  return namespaces
}

/** A reference with a namespace means the former one, or if no resource was there, the present one. */
function inNamespace(
  search: Search,
  candidates: readonly Resource[],
  within: string | typeof anyNamespace | undefined,
): readonly Resource[] {
  if (typeof within !== 'string') return candidates
  const former = search.index.byFormerNamespace.get(within) ?? []
  const isFormer = former.some(each => mayReference(search, each))
  return candidates.filter(each => {
    return effectiveNamespace(isFormer ? each.originalId : each.currentId) === within
  })
}

/** The kind of role that a binding references. */
function roleOf({ referrer, spec }: Search): Partial<Gvk> | undefined {
  if (!spec.path?.endsWith('roleRef/name')) return undefined
  const role = get(referrer.object, 'roleRef')
  if (!isObject(role)) return undefined
  const [group, kind] = [get(role, 'apiGroup'), get(role, 'kind')]
  if (group === undefined || kind === undefined) return undefined
  return { group: textOf(group), kind: textOf(kind) }
}

function isInScope(referrer: Resource, candidate: Resource): boolean {
  if (isClusterScoped(referrer.gvk) || isClusterScoped(candidate.gvk)) return true
  if (candidate.kind === 'ServiceAccount') return true
  return effectiveNamespace(referrer.currentId) === effectiveNamespace(candidate.currentId)
}

/** True if both got the same prefixes and suffixes since they were in one kustomization. */
function hasSameAffixes(left: Resource, right: Resource, mayBeMissing: boolean): boolean {
  return (['namePrefixes', 'nameSuffixes'] as const).every(field => {
    const [shorter, longer] = [left[field], right[field]].sort((a, b) => a.length - b.length)
    if (shorter === undefined || longer === undefined) return true
    if (shorter.length === 0) return mayBeMissing || longer.length === 0
    const tail = longer.slice(longer.length - shorter.length)
    return shorter.every((affix, index) => affix === tail[index])
  })
}
