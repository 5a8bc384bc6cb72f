/**
 * The authorizer interface. The first authorizer of a chain with an opinion decides; without any opinion the
 * request is denied.
 */
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceRule,
  ResourceRule,
} from '#/api/generated/authorization/v1.ts'
import type { RequestInfo } from '../request-info.ts'
import type { UserInfo } from '../request.ts'

/** The user and the requested action on a resource or non-resource path. */
export type Attributes = { readonly user: UserInfo } & (ResourceAttributes | PathAttributes)

export interface ResourceAttributes {
  readonly isResource: true
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** Selectors of list, watch and deletecollection requests; only some authorizers evaluate them. */
  readonly fieldSelector?: FieldSelectorAttributes
  readonly labelSelector?: LabelSelectorAttributes
}

export interface PathAttributes {
  readonly isResource: false
  readonly verb: string
  readonly path: string
}

export type Decision = 'allow' | 'deny' | 'no opinion'

export interface Authorization {
  readonly decision: Decision
  readonly reason: string
  /** An error that kept the authorizer from a full evaluation; it does not change the decision. */
  readonly error?: string
}

export interface Authorizer {
  authorize(attributes: Attributes): Promise<Authorization> | Authorization
  /** Absent if the authorizer cannot enumerate its rules. */
  rulesFor?(user: UserInfo, namespace: string): UserRules
}

/** Enumerable permissions of a user in a namespace, for SelfSubjectRulesReview. */
export interface UserRules {
  readonly resourceRules: readonly ResourceRule[]
  readonly nonResourceRules: readonly NonResourceRule[]
  /** True if permissions beyond the listed ones may exist. */
  readonly incomplete: boolean
  readonly errors: readonly string[]
}

export const noRules: UserRules = { resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] }

export const noOpinion: Authorization = { decision: 'no opinion', reason: '' }

export const allowed: Authorization = { decision: 'allow', reason: '' }

export function attributesOf(user: UserInfo, info: RequestInfo, query?: URLSearchParams): Attributes {
  if (!info.isResource) return { user, isResource: false, verb: info.verb, path: info.path }
  const { verb, group, version, resource, subresource, namespace, name } = info
  // Spelled out, because spreads of this many fields are slow, and every request is authorized.
  const attributes = {
    user,
    isResource: true,
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
  } as const
  if (info.isWatchPath || query === undefined || !readsMany.has(verb)) return attributes
  const fields = query.get('fieldSelector')
  const labels = query.get('labelSelector')
  return {
    ...attributes,
    ...(fields && { fieldSelector: { rawSelector: fields } }),
    ...(labels && { labelSelector: { rawSelector: labels } }),
  }
}

const readsMany: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])
