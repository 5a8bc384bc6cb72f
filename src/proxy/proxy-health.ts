/**
 * The health of the service proxy: it is unhealthy while a change waits for too long to be written, and healthy
 * while nothing changes. A node that is being deleted takes no new traffic.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Clock } from '#/platform/platform.ts'
import { familyLabel } from './proxy-metrics.ts'

/** Twice upstream's sync period. */
const healthTimeoutMs = 60_000

/** Set by the cluster autoscaler before it deletes the node. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler'

export interface HealthReport {
  readonly isHealthy: boolean
  /** JSON, as upstream. */
  readonly text: string
}

export class ProxyHealth {
  readonly #clock: Clock
  readonly #families: readonly IpFamily[]
  /** Since when a change waits, on the monotonic clock. */
  #pendingSinceMs: number | undefined
  #updatedMs: number | undefined
  #hasFailed = false
  /** False until the node is known, and when it is being deleted. */
  #isNodeEligible = false

  constructor(clock: Clock, families: readonly IpFamily[]) {
    this.#clock = clock
    this.#families = families
  }

  queued(): void {
    this.#pendingSinceMs ??= this.#clock.monotonicMs()
  }

  updated(): void {
    this.#pendingSinceMs = undefined
    this.#updatedMs = this.#clock.now()
  }

  /** Rules could not be written. */
  failed(): void {
    this.#hasFailed = true
  }

  setNode(node: Node | undefined): void {
    const taints = node?.spec?.taints ?? []
    this.#isNodeEligible =
      node !== undefined && !isBeingDeleted(node) && !taints.some(({ key }) => key === toBeDeletedTaint)
  }

  /** True while the first sync, which may be large, has not failed. */
  get isHealthy(): boolean {
    const isStarting = this.#updatedMs === undefined && !this.#hasFailed
    if (isStarting || this.#pendingSinceMs === undefined) return true
    return this.#clock.monotonicMs() - this.#pendingSinceMs < healthTimeoutMs
  }

  healthz(): HealthReport {
    const nodeEligible = this.#isNodeEligible
    return this.#report(this.isHealthy && nodeEligible, { nodeEligible })
  }

  livez(): HealthReport {
    return this.#report(this.isHealthy, {})
  }

  #report(isHealthy: boolean, further: { readonly nodeEligible?: boolean }): HealthReport {
    const currentTime = timeText(this.#clock.now())
    const updated = timeText(this.#updatedMs)
    const own = { lastUpdated: updated, healthy: this.isHealthy }
    const status = Object.fromEntries(this.#families.map(family => [familyLabel(family), own]))
    const text = JSON.stringify({
      // Clients expect a recent time from a healthy proxy, even if nothing changes.
      lastUpdated: isHealthy ? currentTime : updated,
      currentTime,
      ...further,
      healthy: this.isHealthy,
      ...(this.#updatedMs !== undefined && { status }),
    })
    return { isHealthy, text }
  }
}

/** The zero time of Go if there is none. */
function timeText(ms: number | undefined): string {
  return ms === undefined ? '0001-01-01T00:00:00Z' : new Date(ms).toISOString()
}
