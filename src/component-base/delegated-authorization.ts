/** Authorizes requests to a component by SubjectAccessReview. */
import type { SubjectAccessReview, SubjectAccessReviewSpec } from '#/api/generated/authorization/v1.ts'
import { subjectAccessReviews } from '#/api/generated/authorization/v1-resources.ts'
import type { UserInfo } from '#/api/transport.ts'
import type { Client } from '#/client/client.ts'
import type { Clock } from '#/platform/platform.ts'
import { TimedCache } from './timed-cache.ts'

export type AccessAttributes = Pick<SubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'>

export interface DelegatedAuthorizationOptions {
  /** May create SubjectAccessReviews. Without it nothing is allowed. */
  readonly client: Client | undefined
  readonly clock: Clock
  /** Cache TTL of decisions. */
  readonly allowedTtlMs: number
  readonly deniedTtlMs: number
}

export class DelegatedAuthorization {
  readonly #options: DelegatedAuthorizationOptions
  readonly #decisions: TimedCache<boolean>

  constructor(options: DelegatedAuthorizationOptions) {
    this.#options = options
    this.#decisions = new TimedCache({ clock: options.clock, sizeMax: 4_096 })
  }

  /** Rejects if the API server is unavailable. */
  async isAllowed(user: UserInfo, attributes: AccessAttributes): Promise<boolean> {
    const { client, allowedTtlMs, deniedTtlMs } = this.#options
    if (client === undefined) return false
    const key = JSON.stringify([user, attributes])
    const holdsMs = (isAllowed: boolean): number => (isAllowed ? allowedTtlMs : deniedTtlMs)
    return this.#decisions.get(key, () => review(client, user, attributes), holdsMs)
  }
}

async function review(client: Client, user: UserInfo, attributes: AccessAttributes): Promise<boolean> {
  const { username, uid, groups, extra } = user
  const subject: SubjectAccessReview = {
    metadata: {},
    spec: {
      user: username,
      groups,
      ...(uid && { uid }),
      ...(extra && { extra }),
      ...attributes,
    },
  }
  const { status } = await client.create(subjectAccessReviews, subject)
  return status?.allowed ?? false
}
