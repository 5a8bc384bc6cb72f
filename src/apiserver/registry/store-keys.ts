/**
 * Where objects are in the store: the layout of Kubernetes, so that tools that read its etcd read ours. The
 * key has no version: all versions of a kind are one object.
 */
import { isBuiltinGroup } from '#/api/builtin.ts'
import type { Resource } from '#/api/resource.ts'

/** Everything the API server stores is below it. */
export const storeRoot = '/registry/'

/** Resources whose folder is not simply their plural. */
const folders: Readonly<Record<string, string>> = {
  'endpoints': 'services/endpoints',
  'ingresses.networking.k8s.io': 'ingress',
  'nodes': 'minions',
  'replicationcontrollers': 'controllers',
  'services': 'services/specs',
  'events.events.k8s.io': 'events',
}

/** Groups whose resources are below a folder with the group's name, as custom ones are. */
const groupsApart: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io'])

/** The prefix of all objects of a resource, in all namespaces or in one. Ends with a slash. */
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
  const folder =
    folders[group === '' ? plural : `${plural}.${group}`] ?? (isApart ? `${group}/${plural}` : plural)
  const prefix = `${storeRoot}${folder}/`
  prefixes.set(resource, prefix)
  return prefix
}
