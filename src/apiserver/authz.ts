/**
 * Authorization: who may do what. The authorizers that the server was told to ask, in that order, after the group of
 * administrators; the roles that every cluster has; and the rule that nobody gives more than they have. Who somebody is
 * was found out before, and what an allowed request may contain is decided by admission.
 */
import { AbacAuthorizer, type AbacPolicy } from './authz/abac-authorizer.ts'
import { administrators, alwaysAllow, alwaysDeny } from './authz/always.ts'
import { authorizerChain } from './authz/authorizer-chain.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { checkEscalation } from './authz/escalation.ts'
import type { AuthorizationMode } from './authz/modes.ts'
import { NodeAuthorizer } from './authz/node-authorizer.ts'
import { RbacAuthorizer } from './authz/rbac-authorizer.ts'
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from './authz/webhook-authorizer.ts'
import type { AdmissionPlugin } from './admission/admission.ts'
import type { ObjectCache } from './registry/object-cache.ts'

export { type AbacPolicy } from './authz/abac-authorizer.ts'
export { defaultModes, type AuthorizationMode } from './authz/modes.ts'
export { reconcileRoles } from './authz/reconcile-roles.ts'
export type { WebhookAuthorizerOptions } from './authz/webhook-authorizer.ts'

export interface AuthzOptions {
  readonly cache: ObjectCache
  readonly modes: readonly AuthorizationMode[]
  /** For the mode ABAC. */
  readonly abacPolicies?: readonly AbacPolicy[]
  /** For the mode Webhook. */
  readonly webhook?: WebhookAuthorizerOptions
}

export interface Authz {
  readonly authorizer: Required<Authorizer>
  /**
   * Checks writes of roles and bindings. The last of the plugins that may change an object: what is checked is
   * what would be stored, and somebody who may not write a role does not hear what else is wrong with it.
   */
  readonly escalation: AdmissionPlugin
}

/** Throws Error when a mode lacks what it needs. */
export function createAuthz(options: AuthzOptions): Authz {
  const rbac = new RbacAuthorizer(options.cache)
  const authorizer = authorizerChain([
    administrators,
    ...options.modes.map(mode => authorizerOf(mode, options, rbac)),
  ])
  const escalation: AdmissionPlugin = {
    name: 'RBACEscalation',
    mutate: async request => {
      await checkEscalation({ rbac, authorizer, catchUp: () => options.cache.catchUp() }, request)
      return request.object
    },
  }
  return { authorizer, escalation }
}

function authorizerOf(
  mode: AuthorizationMode,
  { cache, abacPolicies, webhook }: AuthzOptions,
  rbac: RbacAuthorizer,
): Authorizer {
  switch (mode) {
    case 'RBAC':
      return rbac
    case 'Node':
      return new NodeAuthorizer(cache)
    case 'ABAC':
      if (!abacPolicies) throw new Error('authorization-mode ABAC needs --authorization-policy-file')
      return new AbacAuthorizer(abacPolicies)
    case 'Webhook':
      if (!webhook) throw new Error('authorization-mode Webhook needs --authorization-webhook-config-file')
      return new WebhookAuthorizer(webhook)
    case 'AlwaysAllow':
      return alwaysAllow
    case 'AlwaysDeny':
      return alwaysDeny
  }
}
