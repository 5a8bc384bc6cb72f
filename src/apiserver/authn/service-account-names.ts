/** User names and groups of service accounts. */
import { checkDns1123Label, checkDns1123Subdomain } from '#/api/names.ts'

const prefix = 'system:serviceaccount:'

export function serviceAccountUsername(namespace: string, name: string): string {
  return `${prefix}${namespace}:${name}`
}

export function serviceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

/** Undefined if the user name is not that of a service account. */
export function readServiceAccountUsername(username: string): ServiceAccountName | undefined {
  if (!username.startsWith(prefix)) return undefined
  const [namespace = '', name = '', ...others] = username.slice(prefix.length).split(':')
  if (
    others.length > 0 ||
    checkDns1123Label(namespace).length > 0 ||
    checkDns1123Subdomain(name).length > 0
  ) {
    return undefined
  }
  return { namespace, name }
}
