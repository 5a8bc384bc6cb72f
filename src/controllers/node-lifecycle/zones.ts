import { TokenBucket } from '#/base/token-bucket.ts'

/** Node evictions per second in a healthy zone, and in a large zone under partial disruption. */
const ratePerSecond = 0.1
const slowRatePerSecond = 0.01

/**
 * Partial disruption: minimum fraction and number of not ready nodes. `largeZoneNodesMin` separates large
 * zones, where evictions continue slowly, from small ones, where they stop.
 */
const unwellShare = 0.55
const unwellNodesMin = 3
const largeZoneNodesMin = 51

type ZoneState = 'well' | 'unwell' | 'down'

/**
 * Rate limiter of node evictions per zone. If many nodes fail at once, a network failure is more likely than
 * failing nodes, so evictions are slowed down or stopped. If all zones are down, the control plane itself is
 * probably disconnected, and nothing is evicted.
 */
export class Zones {
  readonly #nodes = new Map<string, { readonly zone: string; readonly isReady: boolean }>()
  readonly #buckets = new Map<string, { readonly rate: number; readonly bucket: TokenBucket }>()
  /** Time at which each waiting node may be evicted. */
  readonly #turns = new Map<string, number>()
  #states: ReadonlyMap<string, ZoneState> = new Map()

  /** True if every zone is fully disrupted. */
  get areAllDown(): boolean {
    return this.#states.size > 0 && [...this.#states.values()].every(state => state === 'down')
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
  reserve(name: string, nowMs: number): number {
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
    if (this.#states.get(zone) !== 'unwell') return ratePerSecond
    const size = [...this.#nodes.values()].filter(node => node.zone === zone).length
    return size >= largeZoneNodesMin ? slowRatePerSecond : 0
  }

  #bucketOf(zone: string, rate: number, nowMs: number): TokenBucket {
    const known = this.#buckets.get(zone)
    if (known?.rate === rate) return known.bucket
    const bucket = new TokenBucket({ burst: 1, perSecond: rate }, nowMs)
    this.#buckets.set(zone, { rate, bucket })
    return bucket
  }

  #update(): 'changed' | 'same' {
    const counts = new Map<string, { ready: number; silent: number }>()
    for (const { zone, isReady } of this.#nodes.values()) {
      const { ready, silent } = counts.get(zone) ?? { ready: 0, silent: 0 }
      counts.set(zone, isReady ? { ready: ready + 1, silent } : { ready, silent: silent + 1 })
    }
    const states = new Map([...counts].map(([zone, count]) => [zone, stateOf(count)]))
    const isSame =
      states.size === this.#states.size &&
      [...states].every(([zone, state]) => this.#states.get(zone) === state)
    this.#states = states
    return isSame ? 'same' : 'changed'
  }
}

function stateOf({ ready, silent }: { readonly ready: number; readonly silent: number }): ZoneState {
  if (ready === 0 && silent > 0) return 'down'
  return silent >= unwellNodesMin && silent / (ready + silent) >= unwellShare ? 'unwell' : 'well'
}
