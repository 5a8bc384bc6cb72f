/**
 * JSON Web Tokens in compact serialization, signed with asymmetric keys only: RFC 7515, 7518 and 7519.
 * Decoding does not verify: a caller must verify the signature, with a key that fits the algorithm, before it
 * reads the claims. Keys embedded in or referenced by a token are ignored.
 */
import { constants, sign, verify, type KeyObject } from 'node:crypto'

/** The content of a token, untrusted until its signature is verified. */
export interface DecodedToken {
  readonly algorithm: TokenAlgorithm
  /** The issuer's ID of the signing key (`kid`); empty when the token has none. */
  readonly keyId: string
  readonly claims: Claims
  /** The signing input: the encoded header and payload. */
  readonly signed: string
  readonly signature: Uint8Array
}

export type Claims = Readonly<Record<string, unknown>>

export type TokenAlgorithm = keyof typeof algorithms

const algorithms = {
  RS256: { keyType: 'rsa', digest: 'sha256' },
  RS384: { keyType: 'rsa', digest: 'sha384' },
  RS512: { keyType: 'rsa', digest: 'sha512' },
  PS256: { keyType: 'rsa', digest: 'sha256', isPss: true },
  PS384: { keyType: 'rsa', digest: 'sha384', isPss: true },
  PS512: { keyType: 'rsa', digest: 'sha512', isPss: true },
  ES256: { keyType: 'ec', digest: 'sha256', curve: 'prime256v1' },
  ES384: { keyType: 'ec', digest: 'sha384', curve: 'secp384r1' },
  ES512: { keyType: 'ec', digest: 'sha512', curve: 'secp521r1' },
} as const

interface Algorithm {
  readonly keyType: 'rsa' | 'ec'
  readonly digest: string
  readonly curve?: string
  readonly isPss?: boolean
}

/** Maximum length of a token; about the size limit of request headers. */
const tokenCharactersMax = 64 * 1024

/**
 * Undefined when the text is not a token in compact serialization, or is signed with an unsupported
 * algorithm.
 */
export function decodeToken(text: string): DecodedToken | undefined {
  if (text.length > tokenCharactersMax) return undefined
  const [head = '', body = '', tail = '', ...others] = text.split('.')
  if (others.length > 0) return undefined
  const header = readObject(head)
  const claims = readObject(body)
  const signature = readBase64Url(tail)
  if (header === undefined || claims === undefined || signature === undefined) return undefined
  const { alg: algorithm, kid: keyId = '', crit: critical } = header
  // RFC 7515 requires rejecting a token with critical headers that are not understood.
  if (critical !== undefined || typeof keyId !== 'string' || !isTokenAlgorithm(algorithm)) return undefined
  return { algorithm, keyId, claims, signed: text.slice(0, head.length + 1 + body.length), signature }
}

/** Verifies the signature only: the caller checks expiry, issuer and audience. */
export function verifyToken(token: DecodedToken, publicKey: KeyObject): boolean {
  const algorithm: Algorithm = algorithms[token.algorithm]
  if (!fits(algorithm, publicKey)) return false
  try {
    return verify(
      algorithm.digest,
      Buffer.from(token.signed),
      withParameters(algorithm, publicKey),
      token.signature,
    )
  } catch {
    // OpenSSL throws on a malformed signature.
    return false
  }
}

export interface SigningKey {
  readonly privateKey: KeyObject
  readonly keyId: string
}

export function signToken(claims: Claims, { privateKey, keyId }: SigningKey): string {
  const name = tokenAlgorithmOf(privateKey)
  if (name === undefined) {
    throw new Error('cannot sign tokens: unsupported key type (RSA or a NIST curve required)')
  }
  const signed = `${toBase64Url({ alg: name, kid: keyId })}.${toBase64Url(claims)}`
  const algorithm: Algorithm = algorithms[name]
  const signature = sign(algorithm.digest, Buffer.from(signed), withParameters(algorithm, privateKey))
  return `${signed}.${signature.toString('base64url')}`
}

/** The algorithm used for signing with a key; undefined when the key type is not supported. */
export function tokenAlgorithmOf(key: KeyObject): TokenAlgorithm | undefined {
  if (key.asymmetricKeyType === 'rsa') return 'RS256'
  return (['ES256', 'ES384', 'ES512'] as const).find(name => fits(algorithms[name], key))
}

export function isTokenAlgorithm(name: unknown): name is TokenAlgorithm {
  return typeof name === 'string' && Object.hasOwn(algorithms, name)
}

function fits({ keyType, curve }: Algorithm, key: KeyObject): boolean {
  return key.asymmetricKeyType === keyType && key.asymmetricKeyDetails?.namedCurve === curve
}

function withParameters({ keyType, isPss = false }: Algorithm, key: KeyObject) {
  if (keyType === 'ec') return { key, dsaEncoding: 'ieee-p1363' } as const
  if (!isPss) return { key, padding: constants.RSA_PKCS1_PADDING }
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
}

function toBase64Url(value: Claims): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function readObject(text: string): Claims | undefined {
  const bytes = readBase64Url(text)
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** Accepts canonical base64url only, so that a token has exactly one valid encoding. */
function readBase64Url(text: string): Buffer | undefined {
  if (text === '') return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
