import { TokenBucket } from '#/base/token-bucket.ts'

/** Nodes emptied a second while a zone is well, and in a large one that is not. */
const ratePerSecond = 0.1
const slowRatePerSecond = 0.01

/** A zone is unwell when so many of its nodes are silent, and large from so many nodes on. */
const unwellShare = 0.55
const unwellNodesMin = 3
const largeZoneNodesMin = 51

type ZoneState = 'well' | 'unwell' | 'down'

/**
 * How fast nodes are emptied, zone by zone. Where many fell silent at once the network is a likelier cause than the
 * nodes, and when all are silent it is we who have been cut off: then nobody is driven away.
 */
export class Zones {
  readonly #nodes = new Map<string, { readonly zone: string; readonly isReady: boolean }>()
  readonly #buckets = new Map<string, { readonly rate: number; readonly bucket: TokenBucket }>()
  /** When each node that waits for its turn may be emptied. */
  readonly #turns = new Map<string, number>()
  #states: ReadonlyMap<string, ZoneState> = new Map()

  /** Whether every zone is down. */
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

  /** How long a node has to wait until it may be emptied. */
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

  /** The node need not be emptied any more. */
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
