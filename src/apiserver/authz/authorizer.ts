/**
 * Who may do what. Authorizers are asked in order; the first that has an opinion decides, and without one the
 * answer is no.
 */
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceRule,
  ResourceRule,
} from '#/api/generated/authorization/v1.ts'
import type { RequestInfo } from '../request-info.ts'
import type { UserInfo } from '../request.ts'

/** What somebody wants to do, to a resource or to a path. */
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
  /** Which objects of many are meant, as the client says it. Only some authorizers look at it. */
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
  /** Something kept an authorizer from deciding. The decision stands without it. */
  readonly error?: string
}

export interface Authorizer {
  authorize(attributes: Attributes): Promise<Authorization> | Authorization
  /** Absent when the authorizer cannot list what it allows. */
  rulesFor?(user: UserInfo, namespace: string): UserRules
}

/** What a user may do in a namespace, as far as it can be listed. */
export interface UserRules {
  readonly resourceRules: readonly ResourceRule[]
  readonly nonResourceRules: readonly NonResourceRule[]
  /** More may be allowed than is listed. */
  readonly incomplete: boolean
  readonly errors: readonly string[]
}

export const noRules: UserRules = { resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] }

export const noOpinion: Authorization = { decision: 'no opinion', reason: '' }

export const allowed: Authorization = { decision: 'allow', reason: '' }

export function attributesOf(user: UserInfo, info: RequestInfo, query?: URLSearchParams): Attributes {
  if (!info.isResource || query === undefined || !readsMany.has(info.verb)) return { user, ...info }
  const fields = query.get('fieldSelector')
  const labels = query.get('labelSelector')
  return {
    user,
    ...info,
    ...(fields && { fieldSelector: { rawSelector: fields } }),
    ...(labels && { labelSelector: { rawSelector: labels } }),
  }
}

const readsMany: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])
