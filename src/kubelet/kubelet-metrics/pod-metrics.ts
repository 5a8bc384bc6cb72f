import type { DefineMetrics } from './define-metrics.ts'

/** From the wait for a container to an hour of pulling. */
const startBuckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1_200, 1_800, 2_700,
  3_600,
]

const statusBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60]

/** Kinds of work of a pod worker. */
export type PodWorkerOperation = 'create' | 'update' | 'sync' | 'kill' | 'terminated'

/** Values of `container_type`. */
export type ContainerType = 'container' | 'init_container' | 'ephemeral_container'

export type PodMetrics = ReturnType<typeof podMetrics>

/** Pod workers, and what they start. */
export function podMetrics({ counter, gauge, histogram }: DefineMetrics) {
  const buckets = startBuckets
  return {
    workerDuration: histogram(
      'kubelet_pod_worker_duration_seconds',
      'Time to sync a pod, since it was due.',
      {
        labels: ['operation_type'],
      },
    ),
    workerStartDuration: histogram(
      'kubelet_pod_worker_start_duration_seconds',
      'Time from the arrival of a pod to its first sync.',
    ).with(),
    startDuration: histogram(
      'kubelet_pod_start_duration_seconds',
      'Time from the arrival of a pod to the phase Running.',
      { buckets },
    ).with(),
    startTotalDuration: histogram(
      'kubelet_pod_start_total_duration_seconds',
      'Time from the creation of a pod until the API shows all its containers as started.',
      { buckets },
    ).with(),
    startSliDuration: histogram(
      'kubelet_pod_start_sli_duration_seconds',
      'Like kubelet_pod_start_total_duration_seconds, without image pulls and init containers.',
      { buckets },
    ).with(),
    firstNetworkPodStart: gauge(
      'kubelet_first_network_pod_start_sli_duration_seconds',
      'Start duration of the first pod that has a network of its own.',
    ),
    statusSyncDuration: histogram(
      'kubelet_pod_status_sync_duration_seconds',
      'Time from a change of a pod status until the API server has it.',
      { buckets: statusBuckets },
    ).with(),
    containersPerPod: histogram('kubelet_containers_per_pod_count', 'Containers of each new pod.', {
      buckets: [1, 2, 4, 8, 16],
    }).with(),
    admissionRejections: counter('kubelet_admission_rejections_total', 'Pods that the node refused.', [
      'reason',
    ]),
    restarted: counter('kubelet_restarted_pods_total', 'Pods that came again with the same UID.', ['static']),
    orphaned: counter(
      'kubelet_orphaned_runtime_pods_total',
      'Pods that were found in the runtime and that no source knows.',
    ).with(),
    orphansCleaned: gauge(
      'kubelet_orphan_pod_cleaned_volumes',
      'Unknown pods with volumes in the last cleanup.',
    ).with(),
    orphansFailed: gauge(
      'kubelet_orphan_pod_cleaned_volumes_errors',
      'Unknown pods whose volumes the last cleanup failed to remove.',
    ).with(),
  }
}

export type StartMetrics = ReturnType<typeof startMetrics>

/** Starts of sandboxes and containers, and hooks. */
export function startMetrics({ counter, histogram }: DefineMetrics) {
  const typed = ['container_type']
  return {
    startedPods: counter('kubelet_started_pods_total', 'Attempts to create a sandbox.').with(),
    startedPodErrors: counter(
      'kubelet_started_pods_errors_total',
      'Failed attempts to create a sandbox.',
    ).with(),
    startedUserNamespacedPods: counter(
      'kubelet_started_user_namespaced_pods_total',
      'Attempts to create a sandbox with a user namespace.',
    ).with(),
    startedUserNamespacedPodErrors: counter(
      'kubelet_started_user_namespaced_pods_errors_total',
      'Failed attempts to create a sandbox with a user namespace.',
    ).with(),
    startedContainers: counter('kubelet_started_containers_total', 'Attempts to start a container.', typed),
    startedContainerErrors: counter(
      'kubelet_started_containers_errors_total',
      'Failed attempts to start a container, by the reason in the container status.',
      [...typed, 'code'],
    ),
    sandboxDuration: histogram('kubelet_run_podsandbox_duration_seconds', 'Time to create a sandbox.', {
      labels: ['runtime_handler'],
    }),
    sandboxErrors: counter('kubelet_run_podsandbox_errors_total', 'Failed creations of a sandbox.', [
      'runtime_handler',
    ]),
    sleepsTerminatedEarly: counter(
      'kubelet_sleep_action_terminated_early_total',
      'Sleep actions of hooks that ended before their time.',
    ).with(),
  }
}
