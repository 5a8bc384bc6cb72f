/** The `leader_election_*` metrics of client-go, for all elections of a process. */
import type { MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'

export class LeaderElectionMetrics {
  readonly #masterStatus: ScalarMetric
  readonly #slowpath: ScalarMetric

  constructor(registry: MetricsRegistry) {
    this.#masterStatus = registry.gauge({
      name: 'leader_election_master_status',
      help: '1 if this process holds the lease, else 0.',
      labels: ['name'],
      stability: 'ALPHA',
    })
    this.#slowpath = registry.counter({
      name: 'leader_election_slowpath_total',
      help: 'Renewals that had to read the lease again, because it had changed since it was last written.',
      labels: ['name'],
      stability: 'ALPHA',
    })
  }

  setLeader(name: string, isLeader: boolean): void {
    this.#masterStatus.with(name).value = isLeader ? 1 : 0
  }

  slowpath(name: string): void {
    this.#slowpath.with(name).add()
  }
}
