/**
 * Authorization: the configured authorizers in order, after the system:masters group; the bootstrap roles;
 * and privilege escalation prevention for RBAC. Authentication happens before, and admission checks the
 * content of allowed requests.
 */
import { assert } from '#/base/assert.ts'
import { AbacAuthorizer, type AbacPolicy } from './authz/abac-authorizer.ts'
import { privilegedGroupAuthorizer, alwaysAllow, alwaysDeny } from './authz/always.ts'
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
import type { AdmissionPlugin } from './admission/admission-chain.ts'
import type { ObjectCache } from './registry/watch-cache.ts'

export { reconcileRoles } from './authz/reconcile-roles.ts'

/** An authorizer in the chain. Several webhooks are possible; every other mode occurs once. */
export type AuthorizerSettings =
  | { readonly mode: Exclude<AuthorizationMode, 'ABAC' | 'Webhook'> }
  | { readonly mode: 'ABAC'; readonly policies: readonly AbacPolicy[] }
  | { readonly mode: 'Webhook'; readonly webhook: AuthorizationWebhookSettings }

/** Node and RBAC. */
export const defaultAuthorizers: readonly AuthorizerSettings[] = [{ mode: 'Node' }, { mode: 'RBAC' }]

export interface AuthzOptions {
  readonly cache: ObjectCache
  /** In evaluation order. */
  readonly authorizers: readonly AuthorizerSettings[]
  readonly platform: WebhookConnection['platform']
  /** Required for webhooks. */
  readonly connectHttp?: WebhookConnection['connectHttp']
}

export interface Authz {
  readonly authorizer: Required<Authorizer>
  /**
   * Escalation check for roles and bindings. It runs last in the mutating phase: it sees the object as it
   * will be stored, and rejects before validation discloses other errors.
   */
  readonly escalation: AdmissionPlugin
}

export function createAuthz(options: AuthzOptions): Authz {
  const rbac = new RbacAuthorizer(options.cache)
  const authorizer = authorizerChain([
    privilegedGroupAuthorizer,
    ...options.authorizers.map(settings => authorizerOf(settings, options, rbac)),
  ])
  const escalation: AdmissionPlugin = {
    name: 'RBACEscalation',
    mutate: async request => {
      await checkEscalation({ rbac, authorizer, catchUp: () => options.cache.waitForLatest() }, request)
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
      assert(connectHttp !== undefined, 'webhook authorizers require outgoing HTTP')
      return new WebhookAuthorizer({ ...settings.webhook, platform, connectHttp })
    case 'AlwaysAllow':
      return alwaysAllow
    case 'AlwaysDeny':
      return alwaysDeny
  }
}
