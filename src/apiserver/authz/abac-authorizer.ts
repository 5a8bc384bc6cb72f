/**
 * ABAC: a file with one policy per line, each allowing a user or group. It is read only at startup.
 * https://kubernetes.io/docs/reference/access-authn-authz/abac/
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson } from '#/api/text/json.ts'
import type { UserInfo } from '../request.ts'
import {
  allowed,
  noRules,
  type Attributes,
  type Authorization,
  type Authorizer,
  type UserRules,
} from './authorizer.ts'
import { withoutStars } from './rbac/rule-set.ts'

export interface AbacPolicy {
  readonly user: string
  readonly group: string
  readonly readonly: boolean
  readonly apiGroup: string
  readonly resource: string
  readonly namespace: string
  readonly nonResourcePath: string
}

/** Throws an Error that names the invalid line. Empty lines and lines that begin with # are skipped. */
export function parseAbacPolicies(text: string, path: string): readonly AbacPolicy[] {
  return text.split('\n').flatMap((line, index) => {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) return []
    try {
      return [parsePolicy(trimmed)]
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new Error(`error reading policy file ${path}, line ${index + 1}: ${error.message}`, {
        cause: error,
      })
    }
  })
}

export class AbacAuthorizer implements Required<Authorizer> {
  readonly #policies: readonly AbacPolicy[]

  constructor(policies: readonly AbacPolicy[]) {
    this.#policies = policies
  }

  authorize(attributes: Attributes): Authorization {
    const isAllowed = this.#policies.some(policy => {
      return (
        isFor(policy, attributes.user) &&
        (!policy.readonly || readVerbs.includes(attributes.verb)) &&
        isAbout(policy, attributes)
      )
    })
    return isAllowed ? allowed : { decision: 'no opinion', reason: 'No policy matched.' }
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const policies = this.#policies.filter(
      policy => isFor(policy, user) && isOrAny(policy.namespace, namespace),
    )
    return {
      ...noRules,
      resourceRules: policies
        .filter(({ resource }) => resource !== '')
        .map(policy => {
          return { verbs: verbsOf(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] }
        }),
      nonResourceRules: policies
        .filter(({ nonResourcePath }) => nonResourcePath !== '')
        .map(policy => {
          return { verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath] }
        }),
    }
  }
}

const readVerbs: readonly string[] = ['get', 'list', 'watch']

function verbsOf(policy: AbacPolicy): readonly string[] {
  return policy.readonly ? readVerbs : ['*']
}

/** A policy with user and group requires both; one with neither matches nothing. */
function isFor({ user, group }: AbacPolicy, { username, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false
  return (user === '' || user === username) && (group === '' || groups.includes(group))
}

function isAbout(policy: AbacPolicy, attributes: Attributes): boolean {
  if (attributes.isResource) {
    return (
      isOrAny(policy.namespace, attributes.namespace) &&
      isOrAny(policy.resource, attributes.resource) &&
      isOrAny(policy.apiGroup, attributes.group)
    )
  }
  const { nonResourcePath: path } = policy
  return path === attributes.path || (path.endsWith('*') && attributes.path.startsWith(withoutStars(path)))
}

function isOrAny(wanted: string, value: string): boolean {
  return wanted === '*' || wanted === value
}

/** Policies without apiVersion use the legacy format, which has fewer fields. */
function parsePolicy(line: string): AbacPolicy {
  const { apiVersion, kind, spec, ...old } = fields(parseJson(line))
  if (apiVersion !== 'abac.authorization.kubernetes.io/v1beta1' || kind !== 'Policy') return oldPolicy(old)
  const given = fields(spec ?? {})
  return forEverybody({
    user: text(given, 'user'),
    group: text(given, 'group'),
    readonly: flag(given, 'readonly'),
    apiGroup: text(given, 'apiGroup'),
    resource: text(given, 'resource'),
    namespace: text(given, 'namespace'),
    nonResourcePath: text(given, 'nonResourcePath'),
  })
}

function oldPolicy(given: Fields): AbacPolicy {
  const [user, group] = [text(given, 'user'), text(given, 'group')]
  const [namespace, resource] = [text(given, 'namespace'), text(given, 'resource')]
  return forEverybody({
    user: user === '' && group === '' ? '*' : user,
    group,
    readonly: flag(given, 'readonly'),
    apiGroup: '*',
    resource: resource || '*',
    namespace: namespace || '*',
    nonResourcePath: resource === '' && namespace === '' ? '*' : '',
  })
}

/** `*` as user or group means all authenticated users. */
function forEverybody(policy: AbacPolicy): AbacPolicy {
  const isForAll = policy.user === '*' || policy.group === '*'
  return isForAll ? { ...policy, user: '', group: 'system:authenticated' } : policy
}

type Fields = Readonly<Record<string, unknown>>

function fields(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new DecodeError('type', 'a policy must be an object')
}

function text(given: Fields, name: string): string {
  const value = Object.hasOwn(given, name) ? given[name] : undefined
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw new DecodeError('type', `${name} must be a string`)
  return value
}

function flag(given: Fields, name: string): boolean {
  const value = Object.hasOwn(given, name) ? given[name] : undefined
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') throw new DecodeError('type', `${name} must be true or false`)
  return value
}
