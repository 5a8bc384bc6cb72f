/** Public keys in the form in which issuers of tokens publish them: RFC 7517. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { tokenAlgorithmOf } from './json-web-token.ts'

/** A key that verifies tokens, under the name that tokens call it by. */
export interface PublicKey {
  readonly keyId: string
  readonly key: KeyObject
}

/** A name for a key that tells the key from others, and nothing of the key. */
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

/** Keys that somebody may publish at once; further ones are not looked at. */
const keysMax = 256

/** The keys of a published set that can verify tokens; what is of another kind, or damaged, is left out. */
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
    // Only what makes a public key: a private part, if somebody publishes one, is not taken in.
    const key = createPublicKey({ key: { kty, crv, x, y, n, e }, format: 'jwk' })
    return tokenAlgorithmOf(key) === undefined ? [] : [{ keyId, key }]
  } catch {
    return []
  }
}
