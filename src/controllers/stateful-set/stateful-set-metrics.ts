/** The `statefulset_controller_*` metrics. */
import { scaledValueRoundedDown } from '#/api/text/int-or-string.ts'
import type { StatefulSet, StatefulSetStatus } from '#/api/generated/apps/v1.ts'
import type { MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'

export class StatefulSetMetrics {
  readonly #maxUnavailable: ScalarMetric
  readonly #unavailable: ScalarMetric

  constructor(registry: MetricsRegistry) {
    const gauge = (name: string, help: string): ScalarMetric =>
      registry.gauge({
        name: `statefulset_controller_statefulset_${name}`,
        help,
        labels: ['statefulset_namespace', 'statefulset_name', 'pod_management_policy'],
        stability: 'ALPHA',
      })
    this.#maxUnavailable = gauge('max_unavailable', 'Pods that may be unavailable during an update.')
    this.#unavailable = gauge('unavailable_replicas', 'Replicas that are not available.')
  }

  synced(set: StatefulSet, { availableReplicas = 0 }: Partial<StatefulSetStatus>): void {
    const { replicas = 1, updateStrategy } = set.spec ?? {}
    const { maxUnavailable = 1 } = updateStrategy?.rollingUpdate ?? {}
    const labels = labelsOf(set)
    this.#unavailable.with(...labels).value = Math.max(0, replicas - availableReplicas)
    this.#maxUnavailable.with(...labels).value = Math.max(
      1,
      scaledValueRoundedDown(maxUnavailable, replicas) ?? 1,
    )
  }

  forget(set: StatefulSet): void {
    const labels = labelsOf(set)
    this.#unavailable.remove(...labels)
    this.#maxUnavailable.remove(...labels)
  }
}

function labelsOf({ metadata, spec }: StatefulSet): readonly [string, string, string] {
  const { namespace = '', name = '' } = metadata
  return [namespace, name, spec?.podManagementPolicy ?? 'OrderedReady']
}
