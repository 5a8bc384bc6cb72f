/** Reads the discovery documents of extension servers. Only known fields are kept, and malformed parts left out. */
import type { GroupVersion, GroupVersionKind } from '#/api/resource.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { ResourceDiscovery, SubresourceDiscovery } from '../discovery/aggregated.ts'

/** The resources of a group version in an APIGroupDiscoveryList; empty if the list does not contain it. */
export function readGroupDiscoveryList(
  document: JsonValue,
  { group, version }: GroupVersion,
): readonly ResourceDiscovery[] {
  const found = objectsIn(document, 'items')
    .filter(each => text(objectIn(each, 'metadata'), 'name') === group)
    .flatMap(each => objectsIn(each, 'versions'))
    .find(each => text(each, 'version') === version)
  if (found === undefined) return []
  return objectsIn(found, 'resources').flatMap(each => {
    const resource = text(each, 'resource')
    if (resource === '') return []
    const scope = text(each, 'scope') === 'Namespaced' ? 'Namespaced' : 'Cluster'
    const responseKind = kindOf(objectIn(each, 'responseKind'))
    const subresources = objectsIn(each, 'subresources').flatMap(readSubresource)
    return [
      {
        resource,
        responseKind,
        scope,
        singularResource: text(each, 'singularResource'),
        ...optionalNames(each),
        ...(subresources.length > 0 && { subresources }),
      },
    ]
  })
}

function readSubresource(value: JsonObject): readonly SubresourceDiscovery[] {
  const subresource = text(value, 'subresource')
  if (subresource === '') return []
  return [
    { subresource, responseKind: kindOf(objectIn(value, 'responseKind')), verbs: textsIn(value, 'verbs') },
  ]
}

/** The resources of an APIResourceList, in the form of aggregated discovery. */
export function readResourceList(document: JsonValue): readonly ResourceDiscovery[] {
  const entries = objectsIn(document, 'resources').map(value => ({ name: text(value, 'name'), value }))
  const subresources = Map.groupBy(
    entries.filter(({ name }) => name.includes('/')),
    ({ name }) => name.slice(0, name.indexOf('/')),
  )
  return entries
    .filter(({ name }) => name !== '' && !name.includes('/'))
    .map(({ name, value }) => {
      const parts = (subresources.get(name) ?? []).map(part => ({
        subresource: part.name.slice(name.length + 1),
        responseKind: kindOf(part.value),
        verbs: textsIn(part.value, 'verbs'),
      }))
      return {
        resource: name,
        responseKind: kindOf(value),
        scope: isObject(value) && value['namespaced'] === true ? 'Namespaced' : 'Cluster',
        singularResource: text(value, 'singularName'),
        ...optionalNames(value),
        ...(parts.length > 0 && { subresources: parts }),
      }
    })
}

function optionalNames(value: JsonObject): Pick<ResourceDiscovery, 'verbs' | 'shortNames' | 'categories'> {
  const shortNames = textsIn(value, 'shortNames')
  const categories = textsIn(value, 'categories')
  return {
    verbs: textsIn(value, 'verbs'),
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  }
}

function kindOf(value: JsonObject): GroupVersionKind {
  return { group: text(value, 'group'), version: text(value, 'version'), kind: text(value, 'kind') }
}

function objectIn(value: JsonObject, key: string): JsonObject {
  const member = value[key]
  return isObject(member) ? member : {}
}

function objectsIn(value: JsonValue, key: string): readonly JsonObject[] {
  const members = isObject(value) ? value[key] : undefined
  return Array.isArray(members) ? members.filter(isObject).slice(0, membersMax) : []
}

function text(value: JsonObject, key: string): string {
  const member = value[key]
  return typeof member === 'string' && member.length <= nameCharactersMax ? member : ''
}

function textsIn(value: JsonObject, key: string): readonly string[] {
  const members = value[key]
  if (!Array.isArray(members)) return []
  const isName = (member: JsonValue): member is string => {
    return typeof member === 'string' && member.length <= nameCharactersMax
  }
  return members.filter(isName).slice(0, membersMax)
}

/** Further members of a list are ignored. */
const membersMax = 1_000

/** Longer names are ignored. */
const nameCharactersMax = 253
