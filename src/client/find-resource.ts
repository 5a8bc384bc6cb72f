/** Finds a resource by what users type. */
import { defaultResources } from '#/api/builtin.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from './client.ts'
import { discoverResources } from './discovery.ts'

/**
 * Finds a resource by plural, singular, kind or short name, with or without its group: `deploy`,
 * `deployments.apps`. Only names of custom resources need a request. Undefined if there is none.
 */
export async function findResource(client: Client, name: string): Promise<Resource | undefined> {
  const builtin = defaultResources().find(each => isNamed(each, name))
  return builtin ?? (await discoverResources(client)).find(each => isNamed(each, name))
}

function isNamed(resource: Resource, name: string): boolean {
  const { group, kind, plural, singular, shortNames, verbs } = resource
  if (!verbs.includes('get')) return false
  const [word = '', ...rest] = name.toLowerCase().split('.')
  const wanted = rest.join('.')
  const names = [plural, singular, kind.toLowerCase(), ...shortNames]
  return names.includes(word) && (wanted === '' || wanted === group)
}
