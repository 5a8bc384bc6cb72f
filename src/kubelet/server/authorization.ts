/** Authorizes requests to the node by SubjectAccessReview. */
import type { SubjectAccessReview } from '#/api/generated/authorization/v1.ts'
import { subjectAccessReviews } from '#/api/generated/authorization/v1-resources.ts'
import type { UserInfo } from '#/api/transport.ts'
import type { Client } from '#/client/client.ts'
import type { Clock } from '#/platform/platform.ts'
import type { RequestAttributes } from './request-attributes.ts'
import { TimedCache } from './timed-cache.ts'

/** Cache TTL of allowed requests, as upstream. */
const allowedMs = 300_000
const forbiddenMs = 30_000

export interface AuthorizationOptions {
  readonly client: Client
  readonly clock: Clock
  readonly nodeName: string
}

export class Authorization {
  readonly #client: Client
  readonly #nodeName: string
  readonly #decisions: TimedCache<boolean>

  constructor({ client, clock, nodeName }: AuthorizationOptions) {
    this.#client = client
    this.#nodeName = nodeName
    this.#decisions = new TimedCache({ clock, sizeMax: 4_096 })
  }

  /** Rejects if the API server is unavailable. */
  async isAllowed(user: UserInfo, { verb, subresources }: RequestAttributes): Promise<boolean> {
    for (const subresource of subresources) {
      const key = JSON.stringify([user, verb, subresource])
      const ask = (): Promise<boolean> => this.#review(user, verb, subresource)
      const holdsMs = (isAllowed: boolean): number => (isAllowed ? allowedMs : forbiddenMs)
      if (await this.#decisions.get(key, ask, holdsMs)) return true
    }
    return false
  }

  async #review(user: UserInfo, verb: string, subresource: string): Promise<boolean> {
    const { username, uid, groups, extra } = user
    const review: SubjectAccessReview = {
      metadata: {},
      spec: {
        user: username,
        groups,
        ...(uid && { uid }),
        ...(extra && { extra }),
        resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: this.#nodeName },
      },
    }
    const { status } = await this.#client.create(subjectAccessReviews, review)
    return status?.allowed ?? false
  }
}
