/**
 * Authorization: who may do what. The authorizers that the server was told to ask, in that order, after the group of
 * administrators; the roles that every cluster has; and the rule that nobody gives more than they have. Who somebody is
 * was found out before, and what an allowed request may contain is decided by admission.
 */
import { assert } from '#/base/assert.ts'
import { AbacAuthorizer, type AbacPolicy } from './authz/abac-authorizer.ts'
import { administrators, alwaysAllow, alwaysDeny } from './authz/always.ts'
import { authorizerChain } from './authz/authorizer-chain.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { checkEscalation } from './authz/escalation.ts'
import type { AuthorizationMode } from './authz/modes.ts'
import { NodeAuthorizer } from './authz/node-authorizer.ts'
import { RbacAuthorizer } from './authz/rbac-authorizer.ts'
import {
  WebhookAuthorizer,
  type AuthorizationWebhookSettings,
  type WebhookConnection,
} from './authz/webhook-authorizer.ts'
import type { AdmissionPlugin } from './admission/admission.ts'
import type { ObjectCache } from './registry/object-cache.ts'

export { reconcileRoles } from './authz/reconcile-roles.ts'

/** One of those who are asked. Webhooks may be several, everybody else is asked once. */
export type AuthorizerSettings =
  | { readonly mode: Exclude<AuthorizationMode, 'ABAC' | 'Webhook'> }
  | { readonly mode: 'ABAC'; readonly policies: readonly AbacPolicy[] }
  | { readonly mode: 'Webhook'; readonly webhook: AuthorizationWebhookSettings }

/** What a cluster has unless it says otherwise: nodes by what runs on them, everybody else by roles. */
export const defaultAuthorizers: readonly AuthorizerSettings[] = [{ mode: 'Node' }, { mode: 'RBAC' }]

export interface AuthzOptions {
  readonly cache: ObjectCache
  /** In the order in which they are asked. */
  readonly authorizers: readonly AuthorizerSettings[]
  readonly platform: WebhookConnection['platform']
  /** Webhooks need it. */
  readonly connectHttp?: WebhookConnection['connectHttp']
}

export interface Authz {
  readonly authorizer: Required<Authorizer>
  /**
   * Checks writes of roles and bindings. The last of the plugins that may change an object: what is checked is
   * what would be stored, and somebody who may not write a role does not hear what else is wrong with it.
   */
  readonly escalation: AdmissionPlugin
}

export function createAuthz(options: AuthzOptions): Authz {
  const rbac = new RbacAuthorizer(options.cache)
  const authorizer = authorizerChain([
    administrators,
    ...options.authorizers.map(settings => authorizerOf(settings, options, rbac)),
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
  settings: AuthorizerSettings,
  { cache, platform, connectHttp }: AuthzOptions,
  rbac: RbacAuthorizer,
): Authorizer {
  switch (settings.mode) {
    case 'RBAC':
      return rbac
    case 'Node':
      return new NodeAuthorizer(cache)
    case 'ABAC':
      return new AbacAuthorizer(settings.policies)
    case 'Webhook':
      assert(connectHttp !== undefined, 'a webhook is asked over HTTP')
      return new WebhookAuthorizer({ ...settings.webhook, platform, connectHttp })
    case 'AlwaysAllow':
      return alwaysAllow
    case 'AlwaysDeny':
      return alwaysDeny
  }
}
