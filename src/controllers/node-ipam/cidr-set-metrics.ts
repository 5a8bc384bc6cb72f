import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { CidrSet } from './cidr-set.ts'

/** Registers the `node_ipam_controller_*` metrics. */
export function addCidrSetMetrics(registry: MetricsRegistry, sets: readonly CidrSet[]): void {
  const labels = ['clusterCIDR']
  const stability = 'ALPHA'
  const add = (type: 'counter' | 'gauge', name: string, { help, value }: Reading): void =>
    registry.callbackMetric({
      name: `node_ipam_controller_${name}`,
      help,
      type,
      labels,
      stability,
      read: () => sets.map(set => [[set.cluster], value(set)] as const),
    })
  // The spelling is upstream's.
  add('gauge', 'cirdset_max_cidrs', { help: 'Subnets in the CIDR.', value: ({ sizes }) => sizes.max })
  add('gauge', 'cidrset_usage_cidrs', {
    help: 'Fraction of the subnets that are in use.',
    value: ({ sizes }) => sizes.used / sizes.max,
  })
  add('counter', 'cidrset_cidrs_allocations_total', {
    help: 'Allocated subnets.',
    value: ({ totals }) => totals.allocations,
  })
  add('counter', 'cidrset_cidrs_releases_total', {
    help: 'Released subnets.',
    value: ({ totals }) => totals.releases,
  })
  const tries = registry.histogram({
    name: 'node_ipam_controller_cidrset_allocation_tries_per_request',
    help: 'Subnets in use that an allocation skipped.',
    labels,
    buckets: exponentialBuckets(1, 5, 5),
    stability,
  })
  for (const set of sets) {
    const series = tries.with(set.cluster)
    set.onAllocated = count => series.observe(count)
  }
}

interface Reading {
  readonly help: string
  readonly value: (set: CidrSet) => number
}
