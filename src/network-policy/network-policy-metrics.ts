/** The metrics of network policies on a node, beside those of the service proxy. */
import type { Histogram, MetricsRegistry, ScalarSeries } from '#/base/metrics.ts'

/** What is enforced at the time of a scrape. */
export interface EnforcedPolicies {
  /** In the cluster. */
  readonly policies: number
  /** That select pods of this node. */
  readonly activePolicies: number
  readonly peerSets: number
  /** nftables objects of all families: chains, sets and elements. */
  readonly objects: number
}

/** A millisecond, and twice as much each. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

const nothingEnforced: EnforcedPolicies = { policies: 0, activePolicies: 0, peerSets: 0, objects: 0 }

export class NetworkPolicyMetrics {
  readonly syncDuration: Histogram
  readonly syncFailures: ScalarSeries
  readonly lastSync: ScalarSeries
  /** The source of the gauges. */
  read: () => EnforcedPolicies = () => nothingEnforced

  constructor(registry: MetricsRegistry) {
    const stability = 'ALPHA'
    const prefix = 'network_policy'
    const gauge = (name: keyof EnforcedPolicies, suffix: string, help: string): void => {
      registry.callbackMetric({
        name: `${prefix}_${suffix}`,
        help,
        type: 'gauge',
        labels: [],
        stability,
        read: () => [[[], this.read()[name]]],
      })
    }
    this.syncDuration = registry.histogram({
      name: `${prefix}_sync_duration_seconds`,
      help: 'Time to plan and write the rules of changed policies and pods.',
      labels: [],
      buckets: syncBuckets,
      stability,
    })
    const failures = { name: `${prefix}_sync_failures_total`, help: 'Failed writes of rules.', labels: [] }
    this.syncFailures = registry.counter({ ...failures, stability }).with()
    const last = { name: `${prefix}_sync_last_timestamp_seconds`, help: 'Unix time of the last success.' }
    this.lastSync = registry.gauge({ ...last, labels: [], stability }).with()
    gauge('policies', 'policies', 'Network policies in the cluster.')
    gauge('activePolicies', 'active_policies', 'Network policies that select pods of this node.')
    gauge('peerSets', 'peer_sets', 'Sets of pods that the policies of this node refer to.')
    gauge('objects', 'nftables_objects', 'Chains, sets and elements in the tables of this node.')
  }
}
