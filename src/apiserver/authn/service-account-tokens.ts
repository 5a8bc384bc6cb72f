/**
 * Authenticates service account tokens. The signature is verified once and cached; the bound objects are
 * looked up on each use, so a token becomes invalid as soon as its service account, pod, secret or node is
 * gone.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { PublicKey } from '#/base/json-web-key.ts'
import { decodeToken, verifyToken, type Claims } from '#/base/json-web-token.ts'
import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Clock } from '#/platform/platform.ts'
import type { AccessMetrics } from '../metrics/access.ts'
import {
  commonAudiences,
  isAuthenticated,
  type Authenticated,
  type AuthenticationResult,
  type TokenAuthenticator,
} from './authenticator.ts'
import type { BearerToken } from './bearer-token.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { checkLegacyToken, markedInvalid } from './legacy-tokens.ts'
import {
  legacyIssuer,
  readLegacyClaims,
  readServiceAccountClaims,
  type LegacyClaims,
  type ObjectClaim,
  type ServiceAccountClaims,
} from './service-account-claims.ts'
import { credentialId, nodeName, nodeUid, podName, podUid } from './extra-keys.ts'
import { serviceAccountGroups, serviceAccountUsername } from './service-account-names.ts'

export interface ServiceAccountTokensOptions {
  readonly clock: Clock
  readonly objects: ClusterObjects
  /** Accepted issuers; the first one is current. */
  readonly issuers: readonly string[]
  readonly keys: readonly PublicKey[]
  /** Audiences of this server; tokens without audiences are valid for them. */
  readonly audiences: readonly string[]
  /** Called when a secret-based token is used. */
  readonly onLegacyUse?: (secret: Stored<Secret>) => void
  readonly metrics?: AccessMetrics['serviceAccounts'] | undefined
}

/** Maximum number of cached verifications; an evicted token is verified again. */
const verifiedMax = 20_000

/** Tolerance for clock skew, and for objects being deleted. */
const leewayMs = 60_000

export class ServiceAccountTokens implements TokenAuthenticator {
  readonly #options: ServiceAccountTokensOptions
  readonly #issuers: ReadonlySet<unknown>
  /** By token digest. Entries never expire, because a verified signature stays valid. */
  readonly #verified = new LruMap<string, VerifiedToken>(verifiedMax)

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options
    this.#issuers = new Set([...options.issuers, legacyIssuer])
  }

  authenticate(token: BearerToken, audiences: readonly string[]): AuthenticationResult {
    const known = this.#verified.get(token.digest)
    if (known !== undefined) return this.#check(known, token, audiences)
    const decoded = decodeToken(token.text)
    if (decoded === undefined || !this.#issuers.has(decoded.claims['iss'])) return undefined
    const keys = this.#options.keys.filter(({ keyId }) => decoded.keyId === '' || keyId === decoded.keyId)
    if (keys.length === 0) return { failure: 'invalid signature, no keys found' }
    if (!keys.some(({ key }) => verifyToken(decoded, key))) return { failure: 'invalid signature' }
    const verified = this.#understand(decoded.claims)
    if (verified === undefined) {
      return { failure: 'invalid service account token claims' }
    }
    this.#verified.set(token.digest, verified)
    return this.#check(verified, token, audiences)
  }

  #understand(claims: Claims): VerifiedToken | undefined {
    if (claims['iss'] === legacyIssuer) {
      const legacy = readLegacyClaims(claims)
      return legacy && { legacy }
    }
    const read = readServiceAccountClaims(claims)
    return read && { claims: read, result: authenticatedBy(read), boundObjects: this.#boundObjectsOf(read) }
  }

  #check(verified: VerifiedToken, token: BearerToken, asked: readonly string[]): AuthenticationResult {
    const { audiences: serverAudiences, objects, onLegacyUse } = this.#options
    const meant =
      'legacy' in verified || verified.claims.audiences.length === 0
        ? serverAudiences
        : verified.claims.audiences
    const audiences = commonAudiences(asked, meant)
    if (audiences.length === 0) return { failure: 'token audiences do not match' }
    if ('legacy' in verified) {
      const result = checkLegacyToken({ claims: verified.legacy, token, objects, audiences, onLegacyUse })
      this.#recordLegacyUse(result)
      return result
    }
    const nowMs = this.#options.clock.now()
    const failure = whyNotNow(verified.claims, nowMs) ?? this.#whyGone(verified.boundObjects, nowMs)
    if (failure !== undefined) return { failure }
    const result = withStaleness({ ...verified.result, audiences }, verified.claims, nowMs)
    const { metrics } = this.#options
    if (result.annotations?.[staleAnnotation]) metrics?.stale.add()
    else metrics?.valid.add()
    return result
  }

  #recordLegacyUse(result: AuthenticationResult): void {
    const { metrics } = this.#options
    if (metrics === undefined || result === undefined) return
    if (!isAuthenticated(result)) {
      if (result.failure.endsWith(markedInvalid)) metrics.invalidLegacyAuto.add()
      return
    }
    metrics.legacy.add()
    const isGenerated = (result.warnings?.length ?? 0) > 0
    const uses = isGenerated ? metrics.legacyAuto : metrics.legacyManual
    uses.add()
  }

  #boundObjectsOf({
    namespace,
    serviceAccount,
    pod,
    secret,
    node,
  }: ServiceAccountClaims): readonly BoundObject[] {
    const { objects } = this.#options
    const boundObject = (
      kind: 'ServiceAccount' | 'Pod' | 'Secret' | 'Node',
      { name, uid }: ObjectClaim,
    ): BoundObject => {
      return { kind, name, uid, key: objects.keyOf(kind, kind === 'Node' ? '' : namespace, name) }
    }
    return [
      boundObject('ServiceAccount', serviceAccount),
      ...(secret ? [boundObject('Secret', secret)] : []),
      ...(pod ? [boundObject('Pod', pod)] : []),
      // For a pod-bound token the node is informational; the token is not bound to it.
      ...(node && !pod ? [boundObject('Node', node)] : []),
    ]
  }

  #whyGone(boundObjects: readonly BoundObject[], nowMs: number): string | undefined {
    for (const { kind, name, uid, key } of boundObjects) {
      const metadata = (this.#options.objects.get(key) as ServiceAccount | undefined)?.metadata
      if (metadata === undefined) return `${kind} ${name} bound to the token not found`
      if (metadata.uid !== uid) return `${kind} ${name} bound to the token has a different UID`
      const { deletionTimestamp } = metadata
      const deletedMs = deletionTimestamp === undefined ? undefined : parseTime(deletionTimestamp)
      if (deletedMs !== undefined && deletedMs < nowMs - leewayMs) {
        return `${kind} ${name} bound to the token is being deleted`
      }
    }
    return undefined
  }
}

type VerifiedToken = { readonly legacy: LegacyClaims } | BoundToken

interface BoundToken {
  readonly claims: ServiceAccountClaims
  readonly result: Authenticated
  readonly boundObjects: readonly BoundObject[]
}

/** An object that must exist for the token to be valid. */
interface BoundObject extends ObjectClaim {
  readonly kind: string
  /** Cache key. */
  readonly key: string
}

function whyNotNow({ expires, issued, notBefore }: ServiceAccountClaims, nowMs: number): string | undefined {
  if (notBefore * 1_000 > nowMs + leewayMs) return 'service account token is not valid yet'
  if (issued * 1_000 > nowMs + leewayMs) return 'service account token is issued in the future'
  if (expires * 1_000 < nowMs - leewayMs) return 'service account token has expired'
  return undefined
}

const staleAnnotation = 'authentication.k8s.io/stale-token'

/** Adds an audit annotation if the client still uses a token that it should have renewed. */
function withStaleness(
  result: Authenticated,
  { warnAfter, subject }: ServiceAccountClaims,
  nowMs: number,
): Authenticated {
  if (warnAfter === undefined || nowMs <= warnAfter * 1_000) return result
  const seconds = Math.floor(nowMs / 1_000) - warnAfter
  const text = `subject: ${subject}, seconds after warning threshold: ${seconds}`
  return { ...result, annotations: { [staleAnnotation]: text } }
}

function authenticatedBy({
  namespace,
  serviceAccount,
  pod,
  node,
  tokenId,
}: ServiceAccountClaims): Authenticated {
  const extra = {
    ...(tokenId !== '' && { [credentialId]: [`JTI=${tokenId}`] }),
    ...(pod && pod.name !== '' && pod.uid !== '' && { [podName]: [pod.name], [podUid]: [pod.uid] }),
    ...(node && node.name !== '' && { [nodeName]: [node.name] }),
    ...(node && node.name !== '' && node.uid !== '' && { [nodeUid]: [node.uid] }),
  }
  return {
    user: {
      username: serviceAccountUsername(namespace, serviceAccount.name),
      uid: serviceAccount.uid,
      groups: [...serviceAccountGroups(namespace), 'system:authenticated'],
      ...(Object.keys(extra).length > 0 && { extra }),
    },
  }
}
