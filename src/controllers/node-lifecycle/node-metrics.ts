import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { HistogramSeries, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'

export interface NodeMetrics {
  readonly updateNodeHealthSeconds: HistogramSeries
  /** By zone. */
  readonly evictions: ScalarMetric
}

type Zones = ReadonlyMap<string, { readonly size: number; readonly notReady: number }>

/** The `node_collector_*` metrics; `zones` is called at each scrape. */
export function nodeMetrics(registry: MetricsRegistry, zones: () => Zones): NodeMetrics {
  const labels = ['zone']
  const stability = 'ALPHA'
  const gauge = (
    name: string,
    help: string,
    value: (zone: { size: number; notReady: number }) => number,
  ): void =>
    registry.callbackMetric({
      name: `node_collector_${name}`,
      help,
      type: 'gauge',
      labels,
      stability,
      read: () => Array.from(zones(), ([zone, counts]) => [[zoneLabel(zone)], value(counts)] as const),
    })
  gauge('zone_size', 'Nodes in the zone.', ({ size }) => size)
  gauge('zone_health', 'Percentage of nodes that are ready.', ({ size, notReady }) => {
    return (100 * (size - notReady)) / size
  })
  gauge('unhealthy_nodes_in_zone', 'Nodes that are not ready.', ({ notReady }) => notReady)
  return {
    updateNodeHealthSeconds: registry
      .histogram({
        name: 'node_collector_update_node_health_duration_seconds',
        help: 'Time to check the health of a node and to write its conditions and taints.',
        buckets: exponentialBuckets(0.001, 4, 8),
        stability,
      })
      .with(),
    evictions: registry.counter({
      name: 'node_collector_evictions_total',
      help: 'Nodes from which pods were evicted because the node was not healthy.',
      labels,
      stability: 'STABLE',
    }),
  }
}

/** As upstream: empty without region and zone, and otherwise both with a separator that no label contains. */
export function zoneLabel(zoneKey: string): string {
  return zoneKey === ':' ? '' : zoneKey.replace(':', ':\0:')
}
