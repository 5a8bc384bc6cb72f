import type { Endpoint, EndpointPort, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointKey, isSameEndpoint } from '../service-endpoints/slices.ts'

/** A slice as it is to be. */
export interface SliceDraft {
  /** The slice that becomes this; a new one is made when there is none. */
  readonly before?: EndpointSlice
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
  /** Whether it has to be written, be it only for what is beside the endpoints. */
  readonly isChanged: boolean
}

export interface FillWorld {
  /** Slices with these ports. */
  readonly slices: readonly EndpointSlice[]
  readonly ports: readonly EndpointPort[]
  /** By key. */
  readonly wanted: ReadonlyMap<string, Endpoint>
  readonly endpointsMax: number
  /** Whether a slice has to be written anyway. */
  readonly isStale: (slice: EndpointSlice) => boolean
}

export interface Filled {
  readonly drafts: readonly SliceDraft[]
  /** Slices in which nothing is left. */
  readonly emptied: readonly EndpointSlice[]
}

/**
 * Spreads endpoints over slices so that few slices are written: everybody on every node reads each that is.
 * An endpoint stays where it is. New ones go where something changes anyway, the fullest first; then all
 * into one slice that has room, or into new ones.
 */
export function fillSlices({ slices, ports, wanted, endpointsMax, isStale }: FillWorld): Filled {
  const left = new Map(wanted)
  const open = slices.map(slice => keepWanted(slice, left, isStale(slice)))
  const kept = open.filter(({ endpoints }) => endpoints.length > 0)
  const rest = [...left.values()]
  const changed = kept.filter(({ isChanged }) => isChanged)
  for (const slice of changed.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    slice.endpoints.push(...rest.splice(0, Math.max(0, endpointsMax - slice.endpoints.length)))
  }
  const full: Endpoint[][] = []
  while (rest.length >= endpointsMax) full.push(rest.splice(0, endpointsMax))
  const room = rest.length > 0 ? tightestFit(kept, rest.length, endpointsMax) : undefined
  if (room) {
    room.endpoints.push(...rest.splice(0))
    room.isChanged = true
  }
  const fresh = rest.length > 0 ? [...full, rest] : full
  return {
    drafts: [
      ...kept.map(slice => ({ ...slice, ports: slice.before.ports ?? ports })),
      ...fresh.map(endpoints => ({ ports, endpoints, isChanged: true })),
    ],
    emptied: open.filter(({ endpoints }) => endpoints.length === 0).map(({ before }) => before),
  }
}

interface OpenSlice {
  readonly before: EndpointSlice
  readonly endpoints: Endpoint[]
  isChanged: boolean
}

/** What is left of a slice; what is found in it is wanted nowhere else. */
function keepWanted(before: EndpointSlice, left: Map<string, Endpoint>, isStale: boolean): OpenSlice {
  const slice: OpenSlice = { before, endpoints: [], isChanged: isStale }
  for (const endpoint of before.endpoints ?? []) {
    const key = endpointKey(endpoint)
    const wanted = left.get(key)
    left.delete(key)
    const isSame = wanted !== undefined && isSameEndpoint(wanted, endpoint)
    if (!isSame) slice.isChanged = true
    if (wanted !== undefined) slice.endpoints.push(isSame ? endpoint : wanted)
  }
  return slice
}

/** The slice that is unchanged so far and fullest with so many more. */
function tightestFit(
  slices: readonly OpenSlice[],
  count: number,
  endpointsMax: number,
): OpenSlice | undefined {
  return slices
    .filter(({ endpoints, isChanged }) => !isChanged && endpoints.length + count <= endpointsMax)
    .toSorted((a, b) => b.endpoints.length - a.endpoints.length)[0]
}
