/**
 * Store keys in Kubernetes' etcd layout, so that tools that read etcd work. A key has no API version: all
 * versions of a kind are the same object.
 */
import { isBuiltinGroup } from '#/api/builtin.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'

/** Prefix of everything that the API server stores. */
export const storeRoot = '/registry/'

/** Resources with a prefix other than their plural. */
const folders: Readonly<Record<string, string>> = {
  'endpoints': 'services/endpoints',
  'ingresses.networking.k8s.io': 'ingress',
  'nodes': 'minions',
  'replicationcontrollers': 'controllers',
  'services': 'services/specs',
  'events.events.k8s.io': 'events',
}

/** Built-in groups stored under a prefix with the group name, like custom resources. */
const groupsApart: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io'])

/** Prefix of all objects of a resource, in all namespaces or in one; ends with a slash. */
export function prefixOf(resource: Resource, namespace: string): string {
  const inside = resource.scope === 'Namespaced' && namespace !== '' ? `${namespace}/` : ''
  return `${resourcePrefix(resource)}${inside}`
}

export function keyOf(resource: Resource, namespace: string, name: string): string {
  return `${prefixOf(resource, namespace)}${name}`
}

const prefixes = new WeakMap<Resource, string>()

function resourcePrefix(resource: Resource): string {
  const known = prefixes.get(resource)
  if (known) return known
  const { group, plural } = resource
  const isApart = groupsApart.has(group) || !isBuiltinGroup(group)
  const folder = folders[qualifiedResourceName(resource)] ?? (isApart ? `${group}/${plural}` : plural)
  const prefix = `${storeRoot}${folder}/`
  prefixes.set(resource, prefix)
  return prefix
}

/** The part of a store key that identifies the resource; undefined if the key is not an object. */
export function resourcePrefixOf(key: string): string | undefined {
  if (!key.startsWith(storeRoot)) return undefined
  const first = key.indexOf('/', storeRoot.length)
  if (first === -1) return undefined
  const name = key.slice(storeRoot.length, first)
  if (name !== 'services' && !name.includes('.')) return name
  const second = key.indexOf('/', first + 1)
  return second === -1 ? undefined : key.slice(storeRoot.length, second)
}
