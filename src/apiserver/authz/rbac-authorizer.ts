/**
 * RBAC: allows what the roles bound to the user and its groups grant. Roles only allow; otherwise the next
 * authorizer decides. https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import type { RoleRef } from '#/api/generated/rbac/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { ObjectCache } from '../registry/watch-cache.ts'
import type { UserInfo } from '../request.ts'
import { aggregateErrors } from './authorizer-chain.ts'
import {
  noOpinion,
  type Attributes,
  type Authorization,
  type Authorizer,
  type UserRules,
} from './authorizer.ts'
import { RbacIndex, roleKeyOf } from './rbac/rbac-index.ts'
import type { Rule } from './rbac/rule-set.ts'

/** The rules of a user, and the roles that are bound but do not exist. */
export interface ResolvedRules {
  readonly rules: readonly Rule[]
  readonly missing: readonly RoleRef[]
}

export class RbacAuthorizer implements Required<Authorizer> {
  readonly #index: RbacIndex

  constructor(cache: ObjectCache) {
    this.#index = new RbacIndex(cache)
  }

  authorize(attributes: Attributes): Authorization {
    const { user } = attributes
    const namespace = attributes.isResource ? attributes.namespace : ''
    const boundRole = this.#index.find(user, namespace, attributes)
    return boundRole ? boundRole.allowed : this.#refusal(user, namespace)
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const { rules, missing } = this.resolve(user, namespace)
    return {
      resourceRules: rules.flatMap(({ verbs = [], apiGroups, resources = [], resourceNames }) => {
        if (resources.length === 0) return []
        return [
          { verbs, ...(apiGroups && { apiGroups }), resources, ...(resourceNames && { resourceNames }) },
        ]
      }),
      nonResourceRules: rules.flatMap(({ verbs = [], nonResourceURLs = [] }) => {
        return nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }]
      }),
      incomplete: false,
      errors: missing.map(describeMissing),
    }
  }

  resolve(user: UserInfo, namespace: string): ResolvedRules {
    const rules: Rule[] = []
    const missing: RoleRef[] = []
    for (const boundRole of this.#index.boundRolesOf(user, namespace)) {
      const found = this.#index.rulesOf(boundRole)
      if (found === undefined) missing.push(boundRole.roleRef)
      else for (const rule of found) rules.push(rule)
    }
    return { rules, missing }
  }

  /** Rules of the role referenced by a binding in this namespace; undefined if the role does not exist. */
  rulesOfRole(roleRef: RoleRef, bindingNamespace: string): readonly Rule[] | undefined {
    return this.#index.rulesOf({ roleKey: roleKeyOf(roleRef, bindingNamespace) })
  }

  #refusal(user: UserInfo, namespace: string): Authorization {
    const boundRoles = this.#index.boundRolesOf(user, namespace)
    const missing = boundRoles.filter(boundRole => this.#index.rulesOf(boundRole) === undefined)
    if (missing.length === 0) return noOpinion
    const problems = missing.map(({ roleRef }) => describeMissing(roleRef))
    return { decision: 'no opinion', reason: `RBAC: ${aggregateErrors(problems)}` }
  }
}

function describeMissing({ kind, name }: RoleRef): string {
  if (kind !== 'Role' && kind !== 'ClusterRole') return `unsupported role reference kind: ${quote(kind)}`
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${quote(name)} not found`
}
