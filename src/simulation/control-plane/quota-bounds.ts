import type { ResourceQuota } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { isPodActive } from '#/controllers/pods.ts'
import type { Changed, World } from './world.ts'

/** Maximum time between the admission of a pod and its storage. */
const inFlightMs = 1_000

/**
 * Checks that a namespace never has more pods than its quota allows. A quota takes effect when its status has
 * `hard`; pods created before, or admitted before and stored shortly afterwards, do not count. Pods past their
 * grace period do not count either, and since clocks may jump, all terminating pods are ignored.
 */
export class QuotaBounds {
  readonly #world: World
  readonly #inForceMs = new Map<string, number>()
  readonly #madeMs = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
  }

  check({ resourcePrefix, before, after, nowMs }: Changed): readonly string[] {
    if (resourcePrefix === 'resourcequotas' && after?.status?.hard)
      this.#inForceMs.getOrInsert(after.metadata.uid, nowMs)
    if (resourcePrefix !== 'pods' || before !== undefined || after === undefined) return []
    this.#madeMs.set(after.metadata.uid, nowMs)
    const namespace = after.metadata.namespace ?? ''
    return this.#world
      .of('resourcequotas')
      .filter(quota => quota.metadata.namespace === namespace)
      .flatMap(quota => this.#checkQuota(quota))
  }

  #checkQuota({ metadata, status }: Stored<ResourceQuota>): readonly string[] {
    const sinceMs = this.#inForceMs.get(metadata.uid) ?? Infinity
    const most = Number(status?.hard?.['pods'] ?? Infinity)
    const counted = this.#world.of('pods').filter(pod => {
      const madeMs = this.#madeMs.get(pod.metadata.uid) ?? 0
      return (
        pod.metadata.namespace === metadata.namespace && isPodActive(pod) && madeMs > sinceMs + inFlightMs
      )
    })
    if (counted.length <= most) return []
    return [`${counted.length} pods in namespace ${metadata.namespace}, quota ${most}`]
  }
}
