import { signDetached, type SharedSecret } from '#/base/detached-signature.ts'
import type { ConfigMap, Secret } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { expiresAtMs, valueOf } from '../shared/bootstrap-token.ts'

const signaturePrefix = 'jws-kubeconfig-'

export interface Signatures {
  /** Complete desired data of the ConfigMap. */
  readonly data: Readonly<Record<string, string>>
  /** Expiration time of the first token to expire. */
  readonly untilMs: number
}

/** Undefined if the ConfigMap has no `kubeconfig`. */
export function planSignatures(
  { data = {} }: ConfigMap,
  tokens: readonly Secret[],
  nowMs: number,
): Signatures | undefined {
  const content = Object.hasOwn(data, 'kubeconfig') ? data['kubeconfig'] : undefined
  if (content === undefined) return undefined
  const signing = tokens.flatMap(token => {
    const secret = signingSecretOf(token, nowMs)
    return secret === undefined ? [] : [{ secret, expiresMs: expiresAtMs(token) }]
  })
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix))
  const signatures = signing.map(({ secret }) => {
    return [`${signaturePrefix}${secret.keyId}`, signDetached(content, secret)] as const
  })
  return {
    data: Object.fromEntries([...others, ...signatures]),
    untilMs: Math.min(Infinity, ...signing.map(({ expiresMs }) => expiresMs)),
  }
}

/** Undefined if the token is malformed, expired, being deleted or not enabled for signing. */
function signingSecretOf(token: Secret, nowMs: number): SharedSecret | undefined {
  const [, named] = /^bootstrap-token-([a-z0-9]{6})$/.exec(token.metadata?.name ?? '') ?? []
  const keyId = valueOf(token, 'token-id')
  const secret = valueOf(token, 'token-secret')
  const isGood =
    keyId === named &&
    secret !== '' &&
    valueOf(token, 'usage-bootstrap-signing') === 'true' &&
    expiresAtMs(token) > nowMs &&
    !isBeingDeleted(token)
  return isGood ? { keyId, secret } : undefined
}
