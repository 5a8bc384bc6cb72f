import type { Endpoint } from '#/api/generated/discovery/v1.ts'
import type { SliceDraft } from './fill.ts'
import { isReady, withHints } from './hints.ts'
import type { ZoneShares } from './zone-shares.ts'

/** Overload threshold: how far a zone's share of endpoints may fall short of its share of CPUs. */
const overloadMax = 0.2

export type ZoneHints =
  | { readonly drafts: readonly SliceDraft[]; readonly problem?: undefined }
  /** A human-readable reason why no hints were assigned. */
  | { readonly problem: string }

/**
 * Hints for topology mode `Auto`: assigns endpoints to zones in proportion to the zones' allocatable CPUs.
 * Slices that do not change otherwise keep hints that are within the limits.
 * https://kubernetes.io/docs/concepts/services-networking/topology-aware-routing/
 */
export function planZoneHints(drafts: readonly SliceDraft[], shares: ZoneShares | undefined): ZoneHints {
  if (shares === undefined) return { problem: texts.nodes }
  const count = drafts.flatMap(({ endpoints }) => endpoints.filter(isReady)).length
  const sizes = `(${count} endpoints, ${shares.size} zones)`
  if (shares.size > count) return { problem: `${texts.endpoints} ${sizes}` }
  const bounds = boundsOf(shares, count)
  if (bounds === undefined) return { problem: `${texts.overload} ${sizes}` }
  const hinted = new Map<string, number>()
  const open = new Set(drafts.filter(draft => !keepHints(draft, bounds, hinted)))
  const free = [...open].flatMap(({ endpoints }) => endpoints.filter(isReady))
  if (free.some(({ zone }) => !zone)) return { problem: texts.zones }
  for (const { zone = '' } of free) hinted.set(zone, (hinted.get(zone) ?? 0) + 1)
  const zones = redistribute(free, planMoves(bounds, hinted))
  const known = drafts.filter(draft => !open.has(draft))
  const changed = withHints([...open], endpoint => {
    const zone = zones.get(endpoint)
    return zone === undefined ? undefined : { forZones: [{ name: zone }] }
  })
  return { drafts: [...known, ...changed] }
}

const texts = {
  nodes: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
  endpoints: 'Insufficient number of endpoints',
  overload: 'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold',
  zones: 'One or more endpoints do not have a zone specified',
}

interface Bounds {
  readonly max: number
  /** Exact proportional share; not an integer. */
  readonly desired: number
}

/** Limits of the number of endpoints per zone; undefined if there are too few endpoints for all zones. */
function boundsOf(shares: ZoneShares, count: number): ReadonlyMap<string, Bounds> | undefined {
  const least = new Map(
    [...shares].map(([zone, share]) => [zone, Math.ceil((share * count) / (1 + overloadMax))]),
  )
  const spare = count - [...least.values()].reduce((sum, each) => sum + each, 0)
  if (spare < 0) return undefined
  return new Map(
    [...shares].map(([zone, share]) => {
      const min = least.get(zone) ?? 0
      return [zone, { max: min + spare, desired: Math.max(share * count, min) }]
    }),
  )
}

/** True if the slice keeps its hints; they are then added to `hinted`. */
function keepHints(
  { endpoints, isChanged }: SliceDraft,
  bounds: ReadonlyMap<string, Bounds>,
  hinted: Map<string, number>,
): boolean {
  if (isChanged) return false
  const here = new Map<string, number>()
  for (const { hints } of endpoints.filter(isReady)) {
    if (!hints?.forZones?.length || hints.forNodes?.length) return false
    for (const { name } of hints.forZones) here.set(name, (here.get(name) ?? 0) + 1)
  }
  for (const [zone, count] of here) {
    if ((hinted.get(zone) ?? 0) + count > (bounds.get(zone)?.max ?? -1)) return false
  }
  for (const [zone, count] of here) hinted.set(zone, (hinted.get(zone) ?? 0) + count)
  return true
}

interface Moves {
  readonly give: Map<string, number>
  readonly receive: Map<string, number>
}

/** Number of endpoints to move from zones with too many to zones with too few. */
function planMoves(bounds: ReadonlyMap<string, Bounds>, hinted: ReadonlyMap<string, number>): Moves {
  const surplus = new Map([...bounds].map(([zone, { desired }]) => [zone, (hinted.get(zone) ?? 0) - desired]))
  const give = new Map<string, number>()
  const receive = new Map<string, number>()
  for (;;) {
    const sorted = [...surplus].toSorted(([, left], [, right]) => left - right)
    const [poorest = '', deficit = 0] = sorted[0] ?? []
    const [richest = '', excess = 0] = sorted.at(-1) ?? []
    // Moving less than this would not improve the balance.
    if (excess < 0.5 || -deficit < 0.5 || (excess < 1 && -deficit < 1)) return { give, receive }
    surplus.set(richest, excess - 1)
    surplus.set(poorest, deficit + 1)
    give.set(richest, (give.get(richest) ?? 0) + 1)
    receive.set(poorest, (receive.get(poorest) ?? 0) + 1)
  }
}

/** The zone assigned to each endpoint: its own, unless that zone has too many. */
function redistribute(
  endpoints: readonly Endpoint[],
  { give, receive }: Moves,
): ReadonlyMap<Endpoint, string> {
  const takers = [...receive].flatMap(([zone, count]) => Array.from({ length: count }, () => zone))
  return new Map(
    endpoints.map((endpoint): [Endpoint, string] => {
      const { zone = '' } = endpoint
      const surplus = give.get(zone) ?? 0
      const taker = surplus > 0 ? takers.shift() : undefined
      if (taker === undefined) return [endpoint, zone]
      give.set(zone, surplus - 1)
      return [endpoint, taker]
    }),
  )
}
