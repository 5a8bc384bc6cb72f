/** Claims of service account tokens: subject and bound objects. */
import type { Claims } from '#/base/json-web-token.ts'

/** A reference to an object, including its uid. */
export interface ObjectClaim {
  readonly name: string
  readonly uid: string
}

export interface ServiceAccountClaims {
  readonly subject: string
  readonly audiences: readonly string[]
  /** Seconds since the epoch. */
  readonly expires: number
  readonly issued: number
  readonly notBefore: number
  readonly tokenId: string
  readonly namespace: string
  readonly serviceAccount: ObjectClaim
  readonly pod?: ObjectClaim
  readonly secret?: ObjectClaim
  /**
   * The node that the token is bound to, or the node of the pod it is bound to; the uid may be missing in the
   * second case.
   */
  readonly node?: ObjectClaim
  /** Time after which use of the token is reported as stale, in seconds since the epoch. */
  readonly warnAfter?: number
}

export function writeServiceAccountClaims(issuer: string, claims: ServiceAccountClaims): Claims {
  const { namespace, node, pod, secret, serviceAccount, warnAfter } = claims
  return {
    'aud': claims.audiences,
    'exp': claims.expires,
    'iat': claims.issued,
    'iss': issuer,
    'jti': claims.tokenId,
    'kubernetes.io': {
      namespace,
      ...(node && { node: writeObject(node) }),
      ...(pod && { pod: writeObject(pod) }),
      ...(secret && { secret: writeObject(secret) }),
      serviceaccount: writeObject(serviceAccount),
      ...(warnAfter !== undefined && { warnafter: warnAfter }),
    },
    'nbf': claims.notBefore,
    'sub': claims.subject,
  }
}

/** Undefined if claims are missing or invalid. */
export function readServiceAccountClaims(claims: Claims): ServiceAccountClaims | undefined {
  const { aud, exp, iat = 0, nbf = 0, jti = '', sub } = claims
  const own = claims['kubernetes.io']
  if (!isObject(own) || typeof sub !== 'string' || typeof jti !== 'string') return undefined
  const { namespace, serviceaccount, pod, secret, node, warnafter } = own
  const audiences = readAudiences(aud)
  const serviceAccount = readObject(serviceaccount)
  if (audiences === undefined || typeof namespace !== 'string') return undefined
  if (serviceAccount === undefined || serviceAccount.name === '') return undefined
  if (!isSeconds(exp) || !isSeconds(iat) || !isSeconds(nbf)) return undefined
  const bound = { pod, secret, node }
  const objects = Object.entries(bound)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, readObject(value)] as const)
  if (objects.some(([, object]) => object === undefined)) return undefined
  return {
    subject: sub,
    audiences,
    namespace,
    serviceAccount,
    expires: exp,
    issued: iat,
    notBefore: nbf,
    tokenId: jti,
    ...Object.fromEntries(objects),
    ...(isSeconds(warnafter) && warnafter !== 0 && { warnAfter: warnafter }),
  }
}

/** Claims of secret-based tokens, which do not expire but are invalidated with the secret. */
export interface LegacyClaims extends ObjectClaim {
  readonly subject: string
  readonly namespace: string
  readonly secretName: string
}

export const legacyIssuer = 'kubernetes/serviceaccount'

const legacyPrefix = 'kubernetes.io/serviceaccount/'

export function readLegacyClaims(claims: Claims): LegacyClaims | undefined {
  const texts = ['namespace', 'service-account.name', 'service-account.uid', 'secret.name'].map(
    name => claims[`${legacyPrefix}${name}`],
  )
  const [namespace, name, uid, secretName] = texts.map(text => (typeof text === 'string' ? text : ''))
  const { sub: subject } = claims
  if (!namespace || !name || !uid || !secretName || typeof subject !== 'string') return undefined
  return { subject, namespace, name, uid, secretName }
}

function writeObject({ name, uid }: ObjectClaim): Claims {
  return { name, ...(uid !== '' && { uid }) }
}

function readObject(value: unknown): ObjectClaim | undefined {
  if (!isObject(value)) return undefined
  const { name = '', uid = '' } = value
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined
}

/** Accepts a string or a list of strings. */
export function readAudiences(value: unknown): readonly string[] | undefined {
  if (value === undefined) return []
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.every(each => typeof each === 'string') ? list : undefined
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
