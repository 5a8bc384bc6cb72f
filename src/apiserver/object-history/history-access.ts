/**
 * What a user may read of the history: the objects that the user may read now. Objects of a namespace that was deleted
 * and created again belong to another tenant, and require the right to list them in all namespaces.
 */
import type { Resource } from '#/api/resource.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { UserInfo } from '../request.ts'
import type { LocatedObject } from './locate-key.ts'

export interface HistoryAccessOptions {
  readonly user: UserInfo
  readonly authorizer: Pick<Authorizer, 'authorize'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Revision at which the namespace was created; 0 if that is before the retained history. */
  readonly namespaceCreation: (namespace: string) => Promise<number>
}

export class HistoryAccess {
  readonly #options: HistoryAccessOptions
  readonly #decisions = new Map<string, Promise<boolean>>()
  readonly #creations = new Map<string, Promise<number>>()
  #expiryMs = 0

  constructor(options: HistoryAccessOptions) {
    this.#options = options
  }

  /** The user may read what was written at and after this revision. The present object was authorized. */
  async firstRevision(resource: Resource, namespace: string): Promise<number> {
    this.#expire()
    if (namespace === '' || (await this.#may('list', { resource, namespace: '', name: '' }))) return 0
    return this.#creationOf(namespace)
  }

  async mayRead(object: Omit<LocatedObject, 'apiVersion'>, revision: number): Promise<boolean> {
    this.#expire()
    const { resource, namespace } = object
    // A list has whole objects, so that it includes the right to get each.
    if (await this.#may('list', { resource, namespace: '', name: '' })) return true
    const isInNamespace = namespace !== '' && (await this.#may('list', { resource, namespace, name: '' }))
    if (!isInNamespace && !(await this.#may('get', object))) return false
    return namespace === '' || revision >= (await this.#creationOf(namespace))
  }

  #may(verb: string, { resource, namespace, name }: Omit<LocatedObject, 'apiVersion'>): Promise<boolean> {
    const { group, version, plural } = resource
    const decision = `${verb} ${group}/${plural} ${namespace}/${name}`
    return this.#decisions.getOrInsertComputed(decision, async () => {
      const { user, authorizer } = this.#options
      const rest = { group, version, resource: plural, subresource: '', namespace, name }
      const answer = await authorizer.authorize({ user, isResource: true, verb, ...rest })
      return answer.decision === 'allow'
    })
  }

  #creationOf(namespace: string): Promise<number> {
    const { namespaceCreation } = this.#options
    return this.#creations.getOrInsertComputed(namespace, () => namespaceCreation(namespace))
  }

  /** Rights may be revoked while the history is followed. */
  #expire(): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs < this.#expiryMs && this.#decisions.size < decisionsMax) return
    this.#expiryMs = nowMs + decisionMs
    this.#decisions.clear()
    this.#creations.clear()
  }
}

const decisionMs = 10_000

const decisionsMax = 10_000
