/**
 * Authorization: the configured authorizers in order, after the system:masters group; the bootstrap roles;
 * and privilege escalation prevention for RBAC. Authentication happens before, and admission checks the
 * content of allowed requests.
 */
import { assert } from '#/base/assert.ts'
import type { ScalarSeries } from '#/base/metrics.ts'
import { AbacAuthorizer, type AbacPolicy } from './authz/abac-authorizer.ts'
import { privilegedGroupAuthorizer, alwaysAllow, alwaysDeny } from './authz/always.ts'
import { authorizerChain } from './authz/authorizer-chain.ts'
import type { Authorization, Authorizer } from './authz/authorizer.ts'
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
import type { AccessMetrics } from './metrics/access.ts'
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
  readonly metrics?: AccessMetrics
  /** Required for webhooks. */
  readonly connectHttp?: WebhookConnection['connectHttp']
}

export interface Authz {
  readonly authorizer: Required<Authorizer>
  /** Replaces the authorizers after the system:masters group. */
  readonly replaceAuthorizers: (authorizers: readonly AuthorizerSettings[]) => void
  /**
   * Escalation check for roles and bindings. It runs last in the mutating phase: it sees the object as it
   * will be stored, and rejects before validation discloses other errors.
   */
  readonly escalation: AdmissionPlugin
}

export function createAuthz(options: AuthzOptions): Authz {
  const rbac = new RbacAuthorizer(options.cache)
  // Created once: it indexes the objects of the cache.
  let node: NodeAuthorizer | undefined
  const parts: AuthorizerParts = { rbac, node: () => (node ??= new NodeAuthorizer(options.cache)) }
  const chainOf = (authorizers: readonly AuthorizerSettings[]): Required<Authorizer> =>
    authorizerChain([
      privilegedGroupAuthorizer,
      ...authorizers.map(settings => counted(authorizerOf(settings, options, parts), settings, options)),
    ])
  let current = chainOf(options.authorizers)
  const authorizer: Required<Authorizer> = {
    authorize: attributes => current.authorize(attributes),
    rulesFor: (user, namespace) => current.rulesFor(user, namespace),
  }
  const escalation: AdmissionPlugin = {
    name: 'RBACEscalation',
    mutate: async request => {
      await checkEscalation({ rbac, authorizer, catchUp: () => options.cache.waitForLatest() }, request)
      return request.object
    },
  }
  return { authorizer, escalation, replaceAuthorizers: authorizers => (current = chainOf(authorizers)) }
}

interface AuthorizerParts {
  readonly rbac: RbacAuthorizer
  readonly node: () => NodeAuthorizer
}

/** Counts the decisions of an authorizer. */
function counted(
  authorizer: Authorizer,
  settings: AuthorizerSettings,
  { metrics }: Pick<AuthzOptions, 'metrics'>,
): Authorizer {
  if (metrics === undefined) return authorizer
  const name = settings.mode === 'Webhook' ? (settings.webhook.name ?? '') : ''
  const series: Partial<Record<'allow' | 'deny', ScalarSeries>> = {}
  const count = (answer: Authorization): Authorization => {
    const { decision } = answer
    if (decision === 'no opinion') return answer
    series[decision] ??= metrics.decisions(settings.mode, name, decision === 'allow' ? 'allowed' : 'denied')
    series[decision].add()
    return answer
  }
  return {
    authorize: attributes => {
      const answer = authorizer.authorize(attributes)
      return answer instanceof Promise ? answer.then(count) : count(answer)
    },
    ...(authorizer.rulesFor && { rulesFor: (user, namespace) => authorizer.rulesFor!(user, namespace) }),
  }
}

function authorizerOf(
  settings: AuthorizerSettings,
  { platform, connectHttp, metrics }: AuthzOptions,
  { rbac, node }: AuthorizerParts,
): Authorizer {
  switch (settings.mode) {
    case 'RBAC':
      return rbac
    case 'Node':
      return node()
    case 'ABAC':
      return new AbacAuthorizer(settings.policies)
    case 'Webhook':
      assert(connectHttp !== undefined, 'webhook authorizers require outgoing HTTP')
      return new WebhookAuthorizer({ ...settings.webhook, platform, connectHttp, metrics })
    case 'AlwaysAllow':
      return alwaysAllow
    case 'AlwaysDeny':
      return alwaysDeny
  }
}
