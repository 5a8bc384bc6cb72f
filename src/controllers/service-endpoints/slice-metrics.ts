import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { HistogramSeries, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { SliceWrites } from './write-slices.ts'

export interface SliceMetricsOptions {
  readonly registry: MetricsRegistry
  /** Prefix of the names. */
  readonly subsystem: 'endpoint_slice_controller' | 'endpoint_slice_mirroring_controller'
  readonly endpointsPerSliceMax: number
}

interface Sizes {
  readonly endpoints: number
  readonly slices: number
  readonly desiredSlices: number
}

const none: Sizes = { endpoints: 0, slices: 0, desiredSlices: 0 }

/** The metrics that both controllers of EndpointSlices have. */
export class SliceMetrics {
  readonly #endpointsPerSliceMax: number
  readonly #changes: ScalarMetric
  readonly #added: HistogramSeries
  readonly #removed: HistogramSeries
  /** By key of the service or the Endpoints. */
  readonly #sizes = new Map<string, Sizes>()
  #total = none

  constructor({ registry, subsystem, endpointsPerSliceMax }: SliceMetricsOptions) {
    const stability = 'ALPHA'
    const histogram = (name: string, help: string): HistogramSeries => {
      const buckets = exponentialBuckets(2, 2, 15)
      return registry.histogram({ name: `${subsystem}_${name}`, help, buckets, stability }).with()
    }
    const gauge = (name: string, help: string, value: (total: Sizes) => number): void => {
      const read = (): [string[], number][] => [[[], value(this.#total)]]
      registry.callbackMetric({ name: `${subsystem}_${name}`, help, type: 'gauge', stability, read })
    }
    this.#endpointsPerSliceMax = endpointsPerSliceMax
    this.#added = histogram('endpoints_added_per_sync', 'Endpoints added by a reconcile.')
    this.#removed = histogram('endpoints_removed_per_sync', 'Endpoints removed by a reconcile.')
    gauge('endpoints_desired', 'Desired endpoints.', ({ endpoints }) => endpoints)
    gauge('num_endpoint_slices', 'EndpointSlices.', ({ slices }) => slices)
    gauge(
      'desired_endpoint_slices',
      'EndpointSlices that would be enough if all were full.',
      ({ desiredSlices }) => desiredSlices,
    )
    this.#changes = registry.counter({
      name: `${subsystem}_changes`,
      help: 'Changes of EndpointSlices.',
      labels: ['operation'],
      stability,
    })
  }

  /** The slices were `before` and the writes have succeeded. Returns the number of updated endpoints. */
  synced(key: string, before: readonly EndpointSlice[], writes: SliceWrites): number {
    for (const operation of ['create', 'update', 'delete'] as const) {
      if (writes[operation].length > 0) this.#changes.with(operation).add(writes[operation].length)
    }
    const gone = new Set([...writes.update, ...writes.delete].map(({ metadata }) => metadata.name))
    const kept = before.filter(({ metadata }) => !gone.has(metadata.name))
    const oldEndpoints = endpointsOf(before.filter(({ metadata }) => gone.has(metadata.name)))
    const newEndpoints = endpointsOf([...writes.create, ...writes.update])
    const { added, removed, updated } = compare(oldEndpoints, newEndpoints)
    this.#added.observe(added)
    this.#removed.observe(removed)
    this.#set(key, sizesOf([...kept, ...writes.update, ...writes.create], this.#endpointsPerSliceMax))
    return updated
  }

  forget(key: string): void {
    this.#set(key, none)
    this.#sizes.delete(key)
  }

  #set(key: string, sizes: Sizes): void {
    const old = this.#sizes.get(key) ?? none
    const { endpoints, slices, desiredSlices } = this.#total
    this.#sizes.set(key, sizes)
    this.#total = {
      endpoints: endpoints + sizes.endpoints - old.endpoints,
      slices: slices + sizes.slices - old.slices,
      desiredSlices: desiredSlices + sizes.desiredSlices - old.desiredSlices,
    }
  }
}

function endpointsOf(slices: readonly EndpointSlice[]): ReadonlyMap<string, Endpoint> {
  const all = new Map<string, Endpoint>()
  for (const { ports, endpoints = [] } of slices) {
    const prefix = JSON.stringify(ports)
    for (const endpoint of endpoints) all.set(`${prefix} ${endpoint.addresses[0]}`, endpoint)
  }
  return all
}

function compare(
  before: ReadonlyMap<string, Endpoint>,
  after: ReadonlyMap<string, Endpoint>,
): { readonly added: number; readonly removed: number; readonly updated: number } {
  let [added, updated] = [0, 0]
  for (const [key, endpoint] of after) {
    const old = before.get(key)
    if (old === undefined) added++
    else if (!equalJson(old, endpoint)) updated++
  }
  return { added, updated, removed: before.size - (after.size - added) }
}

/** Endpoints of one address type with the same ports share slices. */
function sizesOf(slices: readonly EndpointSlice[], max: number): Sizes {
  const groups = new Map<string, number>()
  let endpoints = 0
  for (const slice of slices) {
    const group = JSON.stringify([slice.addressType, slice.ports])
    const count = slice.endpoints?.length ?? 0
    groups.set(group, (groups.get(group) ?? 0) + count)
    endpoints += count
  }
  const desired = groups.values().reduce((sum, count) => sum + Math.max(1, Math.ceil(count / max)), 0)
  return { endpoints, slices: slices.length, desiredSlices: desired }
}
