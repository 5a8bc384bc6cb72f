/** What tokens of service accounts say: of whom they are, and what they are bound to. */
import type { Claims } from '#/base/json-web-token.ts'

/** An object of the cluster, which is this one only with this uid. */
export interface ObjectClaim {
  readonly name: string
  readonly uid: string
}

export interface ServiceAccountClaims {
  readonly subject: string
  readonly audiences: readonly string[]
  /** Seconds since 1970. */
  readonly expires: number
  readonly issued: number
  readonly notBefore: number
  readonly tokenId: string
  readonly namespace: string
  readonly serviceAccount: ObjectClaim
  readonly pod?: ObjectClaim
  readonly secret?: ObjectClaim
  /** What the token is bound to, or where the pod is that it is bound to. The uid may be missing then. */
  readonly node?: ObjectClaim
  /** When somebody should have got a new token. Seconds since 1970. */
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

/** Undefined when claims are missing, or are not what they should be. */
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

/** Tokens that secrets keep. They do not expire, and go with the secret. */
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

/** One text, or several in a list. */
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
