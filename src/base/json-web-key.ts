/** Public keys as JSON Web Keys (RFC 7517), the form in which token issuers publish them. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { tokenAlgorithmOf } from './json-web-token.ts'

/** A key that verifies tokens, with the key ID (`kid`) that tokens refer to. */
export interface PublicKey {
  readonly keyId: string
  readonly key: KeyObject
}

/** Key ID: the SHA-256 hash of the public key. */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
}

export function toJsonWebKey({ keyId, key }: PublicKey): Readonly<Record<string, string>> {
  const { kty = '', crv, x, y, n, e } = key.export({ format: 'jwk' })
  return {
    use: 'sig',
    kty,
    kid: keyId,
    ...(crv !== undefined && { crv }),
    alg: tokenAlgorithmOf(key) ?? '',
    ...(x !== undefined && { x }),
    ...(y !== undefined && { y }),
    ...(n !== undefined && { n }),
    ...(e !== undefined && { e }),
  }
}

/** Maximum number of keys read from a published set; the rest are ignored. */
const keysMax = 256

/**
 * The keys of a JSON Web Key Set that can verify tokens; malformed keys and unsupported types are skipped.
 */
export function readJsonWebKeys(set: unknown): readonly PublicKey[] {
  const keys = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  return Array.isArray(keys) ? keys.slice(0, keysMax).flatMap(readJsonWebKey) : []
}

function readJsonWebKey(value: unknown): PublicKey[] {
  if (typeof value !== 'object' || value === null) return []
  const {
    kid: keyId = '',
    use = 'sig',
    kty = '',
    crv,
    x,
    y,
    n,
    e,
  } = value as Readonly<Record<string, string | undefined>>
  if (typeof keyId !== 'string' || use !== 'sig') return []
  try {
    // Only the public parameters are read, even if an issuer publishes private ones.
    const key = createPublicKey({ key: { kty, crv, x, y, n, e }, format: 'jwk' })
    return tokenAlgorithmOf(key) === undefined ? [] : [{ keyId, key }]
  } catch {
    return []
  }
}
