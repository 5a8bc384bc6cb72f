/**
 * Validation of resource and non-resource rules of a flow schema. `*` matches all and must be the only entry.
 */
import { invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type { NonResourcePolicyRule, ResourcePolicyRule } from '../../generated/flowcontrol/v1.ts'
import { checkDns1123Label } from '../../names.ts'
import type { Unchecked } from '../validation/unchecked.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

export function validateResourceRule(field: string, rule: Unchecked<ResourcePolicyRule>): FieldError[] {
  const { apiGroups = [], resources = [], namespaces = [], clusterScope = false } = rule
  const namespacesField = `${field}.namespaces`
  const errors = [
    ...validateVerbs(`${field}.verbs`, rule.verbs ?? []),
    ...requireAny(`${field}.apiGroups`, apiGroups, 'resource rules must supply at least one api group'),
    ...validateStar(`${field}.apiGroups`, apiGroups, 'api groups'),
    ...requireAny(`${field}.resources`, resources, 'resource rules must supply at least one resource'),
    ...validateStar(`${field}.resources`, resources, 'resources'),
  ]
  if (!clusterScope) {
    const detail = 'resource rules that are not cluster scoped must supply at least one namespace'
    errors.push(...requireAny(namespacesField, namespaces, detail))
  }
  if (namespaces.includes('*')) return [...errors, ...validateStar(namespacesField, namespaces, 'namespaces')]
  return [
    ...errors,
    ...namespaces.flatMap((name, index) =>
      checkDns1123Label(name).map(problem => {
        const detail = `each member of this list must be '*' or a DNS-1123 label; ${problem}`
        return invalid(`${namespacesField}[${index}]`, name, detail)
      }),
    ),
  ]
}

export function validateNonResourceRule(field: string, rule: Unchecked<NonResourcePolicyRule>): FieldError[] {
  const { nonResourceURLs: paths = [] } = rule
  const pathsField = `${field}.nonResourceURLs`
  return [
    ...validateVerbs(`${field}.verbs`, rule.verbs ?? []),
    ...requireAny(pathsField, paths, 'nonResourceURLs must contain at least one value'),
    ...(paths.includes('*')
      ? validateStar(pathsField, paths, 'non-resource URLs')
      : paths.flatMap((path, index) => {
          const problem = checkPath(path)
          return problem === undefined ? [] : [invalid(`${pathsField}[${index}]`, path, problem)]
        })),
  ]
}

function validateVerbs(field: string, given: readonly string[]): FieldError[] {
  if (given.includes('*')) return validateStar(field, given, 'verbs')
  const isKnown = given.every(verb => verbs.includes(verb))
  return [
    ...requireAny(field, given, 'verbs must contain at least one value'),
    ...(isKnown ? [] : [notSupported(field, given, verbs)]),
  ]
}

function requireAny(field: string, list: readonly string[], detail: string): FieldError[] {
  return list.length === 0 ? [required(field, detail)] : []
}

function validateStar(field: string, list: readonly string[], what: string): FieldError[] {
  if (list.length <= 1 || !list.includes('*')) return []
  return [invalid(field, list, `if '*' is present, must not specify other ${what}`)]
}

function checkPath(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (!path.startsWith('/')) return 'must start with slash'
  if (path.includes(' ')) return 'must not contain white-space'
  if (path.includes('//')) return 'must not contain double slash'
  const star = path.indexOf('*')
  const isSuffix = star === path.length - 1 && path.endsWith('/*')
  return star === -1 || isSuffix ? undefined : 'wildcard can only do suffix matching'
}
