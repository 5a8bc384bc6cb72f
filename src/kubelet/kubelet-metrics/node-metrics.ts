import type { DefineMetrics } from './define-metrics.ts'

const cgroupOperations = ['create', 'update', 'destroy'] as const

export type NodeMetrics = ReturnType<typeof nodeMetrics>

/** The node, its cgroups and the observation of the runtime. */
export function nodeMetrics({ counter, gauge, histogram }: DefineMetrics) {
  const cgroupDuration = histogram(
    'kubelet_cgroup_manager_duration_seconds',
    'Time to change a pod cgroup.',
    {
      labels: ['operation_type'],
    },
  )
  const [create, update, destroy] = cgroupOperations.map(operation => cgroupDuration.with(operation))
  return {
    name: gauge('kubelet_node_name', 'Always 1; the label is the name of the node.', ['node']),
    cgroupVersion: gauge('kubelet_cgroup_version', 'Version of cgroups on the machine.').with(),
    metricsProvider: gauge(
      'kubelet_metrics_provider',
      'Always 1; the label is the source of container stats.',
      ['provider'],
    ),
    cgroupDuration: { create: create!, update: update!, destroy: destroy! },
    relistDuration: histogram(
      'kubelet_pleg_relist_duration_seconds',
      'Time to read the state of a pod from the runtime.',
    ).with(),
    relistInterval: histogram(
      'kubelet_pleg_relist_interval_seconds',
      'Time between two reads of the state of pods from the runtime.',
    ).with(),
    relistLastSeen: gauge(
      'kubelet_pleg_last_seen_seconds',
      'Unix time of the last read of the state of a pod from the runtime, or of its last event.',
    ),
    evictions: counter('kubelet_evictions', 'Pods evicted, by eviction signal or limit.', [
      'eviction_signal',
    ]),
    evictionStatsAge: histogram(
      'kubelet_eviction_stats_age_seconds',
      'Age of the measurements at the decision to evict.',
      { labels: ['eviction_signal'] },
    ),
  }
}

export type NodeStartupMetrics = ReturnType<typeof nodeStartupMetrics>

/** The start of the node, of which each step is measured once. */
export function nodeStartupMetrics({ gauge }: DefineMetrics) {
  return {
    preKubelet: gauge(
      'kubelet_node_startup_pre_kubelet_duration_seconds',
      'Time from the boot of the machine to the start of the kubelet.',
    ),
    preRegistration: gauge(
      'kubelet_node_startup_pre_registration_duration_seconds',
      'Time from the start of the kubelet to its first attempt to register the node.',
    ),
    registration: gauge(
      'kubelet_node_startup_registration_duration_seconds',
      'Time from the first attempt to register the node until it was registered.',
    ),
    postRegistration: gauge(
      'kubelet_node_startup_post_registration_duration_seconds',
      'Time from the registration of the node until it was ready.',
    ),
    total: gauge(
      'kubelet_node_startup_duration_seconds',
      'Time from the boot of the machine until the node was ready.',
    ),
  }
}
