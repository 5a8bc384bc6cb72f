import type { Service } from '#/api/generated/core/v1.ts'
import type { Snapshot } from '../collect/snapshot.ts'

export interface EndpointCounts {
  readonly ready: number
  readonly notReady: number
}

const serviceNameLabel = 'kubernetes.io/service-name'

/** The endpoints in the EndpointSlices of a Service. */
export function endpointsOf({ endpointSlices = [] }: Snapshot, { metadata }: Service): EndpointCounts {
  const slices = endpointSlices.filter(slice => {
    return (
      slice.metadata.namespace === metadata.namespace &&
      slice.metadata.labels?.[serviceNameLabel] === metadata.name
    )
  })
  const endpoints = slices.flatMap(({ endpoints: list }) => list ?? [])
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false).length
  return { ready, notReady: endpoints.length - ready }
}
