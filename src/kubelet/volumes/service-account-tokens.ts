/**
 * Service account tokens bound to pods; they become invalid when the pod is deleted. A token is cached until
 * 80% of its lifetime has passed, or for one day.
 * https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken
 */
import { messageOf } from '#/base/message-of.ts'
import type { TokenRequest } from '#/api/generated/authentication/v1.ts'
import type { ServiceAccountTokenProjection } from '#/api/generated/core/v1.ts'
import { serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletPod } from '../kubelet-pod.ts'

export interface ServiceAccountTokensOptions {
  readonly platform: Platform
  readonly client: Client
}

interface Token {
  readonly text: string
  readonly expiresMs: number
  /** Time of renewal. */
  renewsMs: number
}

const secondsUsual = 3_600
const ageMsMax = 24 * 3_600_000

/** Spreads renewals of tokens issued together. */
const jitterMsMax = 10_000

/** Retry delay after a failed renewal while the old token is valid. */
const retryMs = 30_000

export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokensOptions
  /** By pod UID, then by audience and lifetime. Removed with the pod. */
  readonly #tokens = new Map<string, Map<string, Token>>()

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options
  }

  async get(pod: KubeletPod, wanted: ServiceAccountTokenProjection, signal?: AbortSignal): Promise<string> {
    const { clock } = this.#options.platform
    const uid = pod.metadata.uid
    const key = JSON.stringify([wanted.audience ?? '', String(wanted.expirationSeconds ?? secondsUsual)])
    const known = this.#tokens.get(uid)?.get(key)
    if (known && clock.now() < known.renewsMs) return known.text
    try {
      const token = await this.#request(pod, wanted, signal)
      const ofPod = this.#tokens.get(uid) ?? new Map<string, Token>()
      this.#tokens.set(uid, ofPod.set(key, token))
      return token.text
    } catch (error) {
      signal?.throwIfAborted()
      const reason = messageOf(error)
      if (known === undefined) throw new Error(`failed to fetch token: ${reason}`, { cause: error })
      if (clock.now() >= known.expiresMs) {
        throw new Error(`token expired and refresh failed: ${reason}`, { cause: error })
      }
      this.#options.platform.log.warn("Couldn't update token", { pod: uid, error })
      known.renewsMs = clock.now() + retryMs
      return known.text
    }
  }

  /** Delay until the pod's first renewal; undefined if it has no tokens. */
  nextRenewalMs(uid: string): number | undefined {
    const ofPod = this.#tokens.get(uid)
    if (ofPod === undefined) return undefined
    const first = Math.min(...[...ofPod.values()].map(({ renewsMs }) => renewsMs))
    return Math.max(0, first - this.#options.platform.clock.now())
  }

  forget(uid: string): void {
    this.#tokens.delete(uid)
  }

  async #request(
    pod: KubeletPod,
    wanted: ServiceAccountTokenProjection,
    signal?: AbortSignal,
  ): Promise<Token> {
    const { platform, client } = this.#options
    const { namespace, name, uid } = pod.metadata
    const { audience, expirationSeconds = secondsUsual } = wanted
    const request: TokenRequest = {
      metadata: {},
      spec: {
        audiences: audience ? [audience] : [],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    }
    const at = { namespace, name: pod.spec?.serviceAccountName || 'default', subresource: 'token' }
    const answer = (await client.createSubresource(serviceAccounts, at, request, { signal })) as TokenRequest
    const { token = '', expirationTimestamp = '' } = answer.status ?? {}
    const lifeMs = Number(answer.spec?.expirationSeconds ?? expirationSeconds) * 1_000
    const expiresMs = parseTime(expirationTimestamp) ?? platform.clock.now() + lifeMs
    const jitterMs = platform.random.fraction('renewal of a token') * jitterMsMax
    return { text: token, expiresMs, renewsMs: renewalMs({ expiresMs, lifeMs }) - jitterMs }
  }
}

/** At 80% of the lifetime, at most one day after issuance. */
export function renewalMs({
  expiresMs,
  lifeMs,
}: {
  readonly expiresMs: number
  readonly lifeMs: number
}): number {
  return Math.min(expiresMs - lifeMs / 5, expiresMs - lifeMs + ageMsMax)
}
