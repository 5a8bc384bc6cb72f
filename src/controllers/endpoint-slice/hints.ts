import type { Endpoint, EndpointHints } from '#/api/generated/discovery/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { SliceDraft } from './fill.ts'

/** Sets the hints of each endpoint. Drafts that do not change are returned as they are. */
export function withHints(
  drafts: readonly SliceDraft[],
  hintsOf: (endpoint: Endpoint) => EndpointHints | undefined,
): readonly SliceDraft[] {
  return drafts.map(draft => {
    const endpoints = draft.endpoints.map(endpoint => hinted(endpoint, hintsOf(endpoint)))
    const isSame = endpoints.every((endpoint, index) => endpoint === draft.endpoints[index])
    return isSame ? draft : { ...draft, endpoints, isChanged: true }
  })
}

function hinted(endpoint: Endpoint, hints: EndpointHints | undefined): Endpoint {
  if (hints === undefined && endpoint.hints === undefined) return endpoint
  if (equalJson(endpoint.hints, hints)) return endpoint
  const { hints: _last, ...rest } = endpoint
  return hints === undefined ? rest : { ...rest, hints }
}

export function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready === true
}

/**
 * Hints for `trafficDistribution`: an endpoint serves clients in its zone, or on its node.
 * https://kubernetes.io/docs/concepts/services-networking/service/#traffic-distribution
 */
export function trafficHints(
  distribution: string | undefined,
): (endpoint: Endpoint) => EndpointHints | undefined {
  const isZonal = distribution !== undefined && zonal.has(distribution)
  return endpoint => {
    const { zone, nodeName } = endpoint
    if (!isZonal || !isReady(endpoint)) return undefined
    const forNodes = distribution === 'PreferSameNode' && nodeName ? [{ name: nodeName }] : undefined
    if (!zone && !forNodes) return undefined
    return { ...(zone && { forZones: [{ name: zone }] }), ...(forNodes && { forNodes }) }
  }
}

const zonal: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode'])
