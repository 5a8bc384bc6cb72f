/**
 * Bootstrap tokens for joining nodes: secrets in `kube-system` that define their usages and expiration.
 * https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
 */
import type { Secret } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Clock } from '#/platform/platform.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'
import type { BearerToken } from './bearer-token.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { constantTimeEqual } from './static-credentials.ts'

export interface BootstrapTokensOptions {
  readonly clock: Clock
  readonly objects: ClusterObjects
}

export class BootstrapTokens implements TokenAuthenticator {
  readonly #clock: Clock
  readonly #objects: ClusterObjects

  constructor({ clock, objects }: BootstrapTokensOptions) {
    this.#clock = clock
    this.#objects = objects
  }

  authenticate({ text }: BearerToken): AuthenticationResult {
    const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? []
    if (id === undefined || secret === undefined) return undefined
    const stored = this.#objects.find('Secret', 'kube-system', `bootstrap-token-${id}`) as
      | Stored<Secret>
      | undefined
    if (stored === undefined || stored.type !== 'bootstrap.kubernetes.io/token') return undefined
    const isGood =
      stored.metadata.deletionTimestamp === undefined &&
      constantTimeEqual(valueOf(stored, 'token-secret'), secret) &&
      valueOf(stored, 'token-id') === id &&
      valueOf(stored, 'usage-bootstrap-authentication') === 'true' &&
      !this.#isExpired(stored)
    const groups = isGood ? groupsOf(stored) : undefined
    return groups && { user: { username: `system:bootstrap:${id}`, groups } }
  }

  #isExpired(secret: Secret): boolean {
    const expiration = valueOf(secret, 'expiration')
    if (expiration === '') return false
    const expiresMs = parseTime(expiration)
    // An unparsable expiration counts as expired.
    return expiresMs === undefined || expiresMs <= this.#clock.now()
  }
}

function valueOf({ data = {} }: Secret, key: string): string {
  const value = Object.hasOwn(data, key) ? data[key] : undefined
  return value === undefined ? '' : Buffer.from(value, 'base64').toString()
}

const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/

/** Undefined if one of the extra groups is not allowed for bootstrap tokens. */
function groupsOf(secret: Secret): readonly string[] | undefined {
  const more = valueOf(secret, 'auth-extra-groups')
  const groups = more === '' ? [] : more.split(',')
  if (!groups.every(group => groupForm.test(group))) return undefined
  return [...new Set(['system:bootstrappers', ...groups])].sort()
}
