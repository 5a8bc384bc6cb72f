/** Bootstrap tokens: secrets in `kube-system` with which machines join a cluster. */
import type { Secret } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'

export function isBootstrapToken({ type, metadata }: Secret): boolean {
  return type === 'bootstrap.kubernetes.io/token' && metadata.namespace === 'kube-system'
}

/** Infinity if the token does not expire. An expiration that cannot be parsed counts as expired. */
export function expiresAtMs(secret: Secret): number {
  const expiration = valueOf(secret, 'expiration')
  return expiration === '' ? Infinity : (parseTime(expiration) ?? 0)
}

/** Empty if the key is missing. */
export function valueOf({ data = {} }: Secret, key: string): string {
  const value = Object.hasOwn(data, key) ? data[key] : undefined
  return value === undefined ? '' : Buffer.from(value, 'base64').toString()
}
