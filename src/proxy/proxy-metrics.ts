/** The metrics of the service proxy, under upstream's names. All families are synced together, and counted each. */
import type { IpFamily } from '#/api/net/ip.ts'
import { MetricsRegistry, type Histogram, type ScalarMetric, type ScalarSeries } from '#/base/metrics.ts'
import type { PortPlan } from './plan.ts'
import type { ProxyMode } from './proxier.ts'

/** A millisecond, and twice as much each. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

const programmingBuckets = [0.25, 0.5, ...range(1, 60, 1), ...range(65, 120, 5), ...range(150, 300, 30)]

function range(first: number, last: number, step: number): readonly number[] {
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step)
}

export function familyLabel(family: IpFamily): string {
  return `IPv${family}`
}

export class ProxyMetrics {
  readonly registry = new MetricsRegistry()
  readonly syncDuration: Histogram
  readonly fullSyncDuration: Histogram
  readonly partialSyncDuration: Histogram
  readonly networkProgrammingDuration: Histogram
  readonly lastSync: ScalarMetric
  readonly lastQueued: ScalarMetric
  readonly syncFailures: ScalarMetric
  readonly cleanupFailures: ScalarMetric
  readonly restoreFailures: ScalarMetric
  readonly serviceChanges: ScalarSeries
  readonly serviceChangesPending: ScalarSeries
  readonly endpointChanges: ScalarSeries
  readonly endpointChangesPending: ScalarSeries
  readonly conntrackDuration: Histogram
  readonly conntrackDeleted: ScalarMetric
  readonly healthz: ScalarMetric
  readonly livez: ScalarMetric

  constructor() {
    const stability = 'ALPHA'
    const labels = ['ip_family']
    const counter = (name: string, help: string, own: readonly string[] = []): ScalarMetric =>
      this.registry.counter({ name: `kubeproxy_${name}`, help, labels: own, stability })
    const gauge = (name: string, help: string, own: readonly string[] = []): ScalarMetric =>
      this.registry.gauge({ name: `kubeproxy_${name}`, help, labels: own, stability })
    const histogram = (name: string, help: string, buckets = syncBuckets): Histogram =>
      this.registry.histogram({ name: `kubeproxy_${name}`, help, labels, buckets, stability })
    const prefix = 'sync_proxy_rules'
    this.syncDuration = histogram(`${prefix}_duration_seconds`, 'Time to write rules.')
    this.fullSyncDuration = histogram('sync_full_proxy_rules_duration_seconds', 'Time to write all rules.')
    this.partialSyncDuration = histogram(
      'sync_partial_proxy_rules_duration_seconds',
      'Time to write changes.',
    )
    this.networkProgrammingDuration = histogram(
      'network_programming_duration_seconds',
      'Time from a change of a pod or service until the rules show it.',
      programmingBuckets,
    )
    this.lastSync = gauge(`${prefix}_last_timestamp_seconds`, 'Unix time of the last success.', labels)
    this.lastQueued = gauge(
      `${prefix}_last_queued_timestamp_seconds`,
      'Unix time of the last request.',
      labels,
    )
    this.syncFailures = counter(`${prefix}_nftables_sync_failures_total`, 'Failed writes of rules.', labels)
    this.restoreFailures = counter(
      `${prefix}_iptables_restore_failures_total`,
      'Failed writes of iptables rules.',
      labels,
    )
    this.cleanupFailures = counter(`${prefix}_nftables_cleanup_failures_total`, 'Failed cleanups.', labels)
    this.serviceChanges = counter(`${prefix}_service_changes_total`, 'Changes of services.').with()
    this.serviceChangesPending = gauge(`${prefix}_service_changes_pending`, 'Those not written yet.').with()
    this.endpointChanges = counter(`${prefix}_endpoint_changes_total`, 'Changes of endpoint slices.').with()
    this.endpointChangesPending = gauge(`${prefix}_endpoint_changes_pending`, 'Those not written yet.').with()
    this.conntrackDuration = histogram(
      'conntrack_reconciler_sync_duration_seconds',
      'Time of a reconciliation.',
    )
    this.conntrackDeleted = counter('conntrack_reconciler_deleted_entries_total', 'Entries deleted.', labels)
    this.healthz = counter('proxy_healthz_total', 'Answers of /healthz.', ['code'])
    this.livez = counter('proxy_livez_total', 'Answers of /livez.', ['code'])
  }

  /** Counts a transaction that the kernel has rejected. */
  rejected(mode: ProxyMode, kind: 'cleanup' | 'sync', families: readonly IpFamily[]): void {
    const ofNftables = kind === 'cleanup' ? this.cleanupFailures : this.syncFailures
    const failures = mode === 'nftables' ? ofNftables : this.restoreFailures
    for (const family of families) failures.with(familyLabel(family)).add()
  }

  /** Counts service ports whose traffic is dropped for lack of a local endpoint, at each scrape. */
  countDropped(families: readonly IpFamily[], ports: () => Iterable<PortPlan>): void {
    this.registry.callbackMetric({
      name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
      help: 'Service ports with the traffic policy Local that have endpoints on other nodes only.',
      type: 'gauge',
      labels: ['ip_family', 'traffic_policy'],
      stability: 'ALPHA',
      read: () => {
        const all = [...ports()]
        return families.flatMap(family =>
          (['internal', 'external'] as const).map(policy => {
            const dropped = all.filter(port => port.family === family && port[policy] === 'drop')
            return [[familyLabel(family), policy], dropped.length] as const
          }),
        )
      },
    })
  }
}
