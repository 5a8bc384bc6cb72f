import type { Endpoint, EndpointPort, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { endpointKey, isSameEndpoint } from '../service-endpoints/slices.ts'

/** Desired contents of a slice. */
export interface SliceDraft {
  /** The existing slice to update; undefined if a new one is created. */
  readonly before?: EndpointSlice
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
  /** True if the slice must be written, possibly only for its metadata. */
  readonly isChanged: boolean
}

export interface FillWorld {
  /** Existing slices with these ports. */
  readonly slices: readonly Stored<EndpointSlice>[]
  readonly ports: readonly EndpointPort[]
  /** By endpoint key. */
  readonly wanted: ReadonlyMap<string, Endpoint>
  readonly maxEndpointsPerSlice: number
  /** True if a slice must be written in any case. */
  readonly isStale: (slice: EndpointSlice) => boolean
}

export interface Filled {
  readonly drafts: readonly SliceDraft[]
  readonly emptied: readonly Stored<EndpointSlice>[]
}

/**
 * Distributes endpoints over slices with as few writes as possible, since every node watches them. Existing
 * endpoints stay in their slice. New ones fill slices that change anyway, fullest first; the rest goes into
 * one existing slice with enough room, or into new slices.
 */
export function fillSlices({ slices, ports, wanted, maxEndpointsPerSlice, isStale }: FillWorld): Filled {
  const left = new Map(wanted)
  const open = slices.map(slice => keepWanted(slice, left, isStale(slice)))
  const kept = open.filter(({ endpoints }) => endpoints.length > 0)
  const rest = [...left.values()]
  const changed = kept.filter(({ isChanged }) => isChanged)
  for (const slice of changed.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    slice.endpoints.push(...rest.splice(0, Math.max(0, maxEndpointsPerSlice - slice.endpoints.length)))
  }
  const full: Endpoint[][] = []
  while (rest.length >= maxEndpointsPerSlice) full.push(rest.splice(0, maxEndpointsPerSlice))
  const room = rest.length > 0 ? tightestFit(kept, rest.length, maxEndpointsPerSlice) : undefined
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
  readonly before: Stored<EndpointSlice>
  readonly endpoints: Endpoint[]
  isChanged: boolean
}

/** The part of a slice that is kept; its endpoints are removed from `left`. */
function keepWanted(before: Stored<EndpointSlice>, left: Map<string, Endpoint>, isStale: boolean): OpenSlice {
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

/** The fullest unchanged slice that has room for `count` more endpoints. */
function tightestFit(
  slices: readonly OpenSlice[],
  count: number,
  maxEndpointsPerSlice: number,
): OpenSlice | undefined {
  return slices
    .filter(({ endpoints, isChanged }) => !isChanged && endpoints.length + count <= maxEndpointsPerSlice)
    .toSorted((a, b) => b.endpoints.length - a.endpoints.length)[0]
}
