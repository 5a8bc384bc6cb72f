import { TokenBucket } from '#/base/token-bucket.ts'

/** Node evictions per second in a healthy zone, and in a large zone under partial disruption. */
const evictionsPerSecond = 0.1
const secondaryEvictionsPerSecond = 0.01

/**
 * Partial disruption: minimum fraction and number of not ready nodes. `largeClusterNodesMin` separates large
 * zones, where evictions continue slowly, from small ones, where they stop.
 */
const unhealthyZoneThreshold = 0.55
const unhealthyNodesMin = 3
const largeClusterNodesMin = 51

type ZoneState = 'normal' | 'partialDisruption' | 'fullDisruption'

/**
 * Rate limiter of node evictions per zone. If many nodes fail at once, a network failure is more likely than
 * failing nodes, so evictions are slowed down or stopped. If all zones are fully disrupted, the control plane itself is
 * probably disconnected, and nothing is evicted.
 */
export class ZoneEvictionLimiter {
  readonly #nodes = new Map<string, { readonly zone: string; readonly isReady: boolean }>()
  readonly #buckets = new Map<string, { readonly rate: number; readonly bucket: TokenBucket }>()
  /** Time at which each waiting node may be evicted. */
  readonly #turns = new Map<string, number>()
  #states: ReadonlyMap<string, ZoneState> = new Map()

  /** True if every zone is fully disrupted. */
  get areAllFullyDisrupted(): boolean {
    return this.#states.size > 0 && [...this.#states.values()].every(state => state === 'fullDisruption')
  }

  /** Number of nodes and of those that are not ready, by zone. */
  get zones(): ReadonlyMap<string, { readonly size: number; readonly notReady: number }> {
    const zones = new Map<string, { size: number; notReady: number }>()
    for (const { zone, isReady } of this.#nodes.values()) {
      const counts = zones.getOrInsertComputed(zone, () => ({ size: 0, notReady: 0 }))
      counts.size++
      if (!isReady) counts.notReady++
    }
    return zones
  }

  observe(name: string, node: { readonly zone: string; readonly isReady: boolean }): 'changed' | 'same' {
    const known = this.#nodes.get(name)
    if (known?.zone === node.zone && known.isReady === node.isReady) return 'same'
    this.#nodes.set(name, node)
    return this.#update()
  }

  forget(name: string): void {
    this.#nodes.delete(name)
    this.#turns.delete(name)
    this.#update()
  }

  /** Time until the node may be evicted; Infinity if evictions in its zone are stopped. */
  reserveEviction(name: string, nowMs: number): number {
    const zone = this.#nodes.get(name)?.zone ?? ''
    const rate = this.#rateOf(zone)
    if (rate === 0) return Infinity
    const known = this.#turns.get(name)
    if (known !== undefined) return Math.max(0, known - nowMs)
    const waitMs = this.#bucketOf(zone, rate, nowMs).reserve(nowMs)
    this.#turns.set(name, nowMs + waitMs)
    return waitMs
  }

  /** The node no longer needs to be evicted. */
  release(name: string): void {
    this.#turns.delete(name)
  }

  #rateOf(zone: string): number {
    if (this.#states.get(zone) !== 'partialDisruption') return evictionsPerSecond
    const size = [...this.#nodes.values()].filter(node => node.zone === zone).length
    return size >= largeClusterNodesMin ? secondaryEvictionsPerSecond : 0
  }

  #bucketOf(zone: string, rate: number, nowMs: number): TokenBucket {
    const known = this.#buckets.get(zone)
    if (known?.rate === rate) return known.bucket
    const bucket = new TokenBucket({ burst: 1, perSecond: rate }, nowMs)
    this.#buckets.set(zone, { rate, bucket })
    return bucket
  }

  #update(): 'changed' | 'same' {
    const counts = new Map<string, { ready: number; notReady: number }>()
    for (const { zone, isReady } of this.#nodes.values()) {
      const { ready, notReady } = counts.get(zone) ?? { ready: 0, notReady: 0 }
      counts.set(zone, isReady ? { ready: ready + 1, notReady } : { ready, notReady: notReady + 1 })
    }
    const states = new Map([...counts].map(([zone, count]) => [zone, stateOf(count)]))
    const isSame =
      states.size === this.#states.size &&
      [...states].every(([zone, state]) => this.#states.get(zone) === state)
    this.#states = states
    return isSame ? 'same' : 'changed'
  }
}

function stateOf({ ready, notReady }: { readonly ready: number; readonly notReady: number }): ZoneState {
  if (ready === 0 && notReady > 0) return 'fullDisruption'
  return notReady >= unhealthyNodesMin && notReady / (ready + notReady) >= unhealthyZoneThreshold
    ? 'partialDisruption'
    : 'normal'
}
