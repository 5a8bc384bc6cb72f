/**
 * The flags of kube-controller-manager that have a meaning here, and the fields of KubeControllerManagerConfiguration
 * that mean the same.
 * https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
 */
import { featureGatesFlag } from '#/apiserver/api-enablement.ts'
import {
  boolFlag,
  integerFlag,
  stringFlag,
  stringSliceFlag,
  valueFlag,
  type Flag,
  type FlagValues,
} from '#/base/flags.ts'
import { componentFlags, duration, file } from '../component-flags.ts'

const prefixLength = (help: string): Flag<number> =>
  valueFlag('N', help, {
    parse: given => (/^\d{1,3}$/.test(given) && Number(given) <= 128 ? Number(given) : undefined),
    what: 'a prefix length',
  })

/** The number of objects that a controller reconciles in parallel: flag, controller and field. */
export const concurrency = [
  ['concurrent-cron-job-syncs', 'cronjob-controller', 'CronJobController.ConcurrentCronJobSyncs'],
  ['concurrent-daemonset-syncs', 'daemonset-controller', 'DaemonSetController.ConcurrentDaemonSetSyncs'],
  ['concurrent-deployment-syncs', 'deployment-controller', 'DeploymentController.ConcurrentDeploymentSyncs'],
  ['concurrent-endpoint-syncs', 'endpoints-controller', 'EndpointController.ConcurrentEndpointSyncs'],
  [
    'concurrent-service-endpoint-syncs',
    'endpointslice-controller',
    'EndpointSliceController.ConcurrentServiceEndpointSyncs',
  ],
  [
    'concurrent-ephemeralvolume-syncs',
    'ephemeral-volume-controller',
    'EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs',
  ],
  ['concurrent-gc-syncs', 'garbage-collector-controller', 'GarbageCollectorController.ConcurrentGCSyncs'],
  [
    'concurrent-horizontal-pod-autoscaler-syncs',
    'horizontal-pod-autoscaler-controller',
    'HPAController.ConcurrentHorizontalPodAutoscalerSyncs',
  ],
  ['concurrent-job-syncs', 'job-controller', 'JobController.ConcurrentJobSyncs'],
  ['concurrent-namespace-syncs', 'namespace-controller', 'NamespaceController.ConcurrentNamespaceSyncs'],
  ['concurrent-replicaset-syncs', 'replicaset-controller', 'ReplicaSetController.ConcurrentRSSyncs'],
  ['concurrent-rc-syncs', 'replicationcontroller-controller', 'ReplicationController.ConcurrentRCSyncs'],
  [
    'concurrent-resource-quota-syncs',
    'resourcequota-controller',
    'ResourceQuotaController.ConcurrentResourceQuotaSyncs',
  ],
  [
    'concurrent-serviceaccount-token-syncs',
    'serviceaccount-token-controller',
    'SAController.ConcurrentSATokenSyncs',
  ],
  [
    'concurrent-statefulset-syncs',
    'statefulset-controller',
    'StatefulSetController.ConcurrentStatefulSetSyncs',
  ],
  [
    'concurrent-ttl-after-finished-syncs',
    'ttl-after-finished-controller',
    'TTLAfterFinishedController.ConcurrentTTLSyncs',
  ],
] as const

type ConcurrencyFlag = (typeof concurrency)[number][0]

const own = {
  'config': file('KubeControllerManagerConfiguration; the flags override it'),
  'controllers': stringSliceFlag('NAME,...', 'controllers to run: * for the default ones, NAME, -NAME (*)'),
  'feature-gates': featureGatesFlag,
  'use-service-account-credentials': boolFlag('a service account for each controller (false)'),
  'allocate-node-cidrs': boolFlag('allocate pod CIDRs to nodes; requires --cluster-cidr (false)'),
  'cluster-cidr': stringSliceFlag('CIDRS', 'pod CIDRs of the cluster, one for each IP family'),
  'service-cluster-ip-range': stringSliceFlag('CIDRS', 'service CIDRs, which nodes do not get'),
  'node-cidr-mask-size': prefixLength(
    'prefix length of pod CIDRs of nodes, with one IP family (24, IPv6 64)',
  ),
  'node-cidr-mask-size-ipv4': prefixLength('the same with two IP families (24)'),
  'node-cidr-mask-size-ipv6': prefixLength('the same with two IP families (64)'),
  'cluster-name': stringFlag('NAME', 'name of the cluster; only cloud providers use it (kubernetes)'),
  'root-ca-file': file('authorities that pods trust, in ConfigMap kube-root-ca.crt (those of --kubeconfig)'),
  'service-account-private-key-file': file('key that signs tokens in Secrets; without it there are none'),
  'cluster-signing-cert-file': file('authority that signs CertificateSigningRequests'),
  'cluster-signing-key-file': file('key of --cluster-signing-cert-file'),
  'cluster-signing-duration': duration('maximum validity of signed certificates (8760h)'),
  'load-balancer-addresses': stringSliceFlag('RANGES', 'addresses of LoadBalancer services; a flag of k8ts'),
  'node-monitor-grace-period': duration('time without heartbeats until a node is unreachable (50s)'),
  'node-startup-grace-period': duration('the same until the first heartbeat (1m)'),
  'terminated-pod-gc-threshold': integerFlag('N', 'finished pods that are kept; 0 keeps all (12500)'),
  'horizontal-pod-autoscaler-sync-period': duration('time between syncs of autoscalers (15s)'),
  'horizontal-pod-autoscaler-downscale-stabilization': duration('stabilization of scaling down (5m)'),
  'horizontal-pod-autoscaler-tolerance': valueFlag('N', 'ratio to the target that is ignored (0.1)', {
    parse: given => (Number(given) >= 0 ? Number(given) : undefined),
    what: 'a non-negative number',
  }),
  'horizontal-pod-autoscaler-cpu-initialization-period': duration('CPU of younger pods is ignored (5m)'),
  'horizontal-pod-autoscaler-initial-readiness-delay': duration('readiness of younger pods is ignored (30s)'),
  'endpoint-updates-batch-period': duration('batching of updates of Endpoints (0)'),
  'endpointslice-updates-batch-period': duration('batching of updates of EndpointSlices (0)'),
  'max-endpoints-per-slice': integerFlag('N', 'endpoints of an EndpointSlice (100)'),
  'legacy-service-account-token-clean-up-period': duration('unused token Secrets are kept for (8760h)'),
}

const concurrencyFlags = Object.fromEntries(
  concurrency.map(([flag, controller]) => [flag, integerFlag('N', `parallel syncs of ${controller}`)]),
) as Readonly<Record<ConcurrencyFlag, Flag<number>>>

export const controllerManagerFlags = { ...own, ...componentFlags, ...concurrencyFlags }

export type ControllerManagerFlags = FlagValues<typeof controllerManagerFlags>

/** The flag of each field of the file, by its path. */
export const flagOfField: ReadonlyMap<string, keyof typeof controllerManagerFlags> = new Map([
  ['Generic.Address', 'bind-address'],
  ['Generic.Port', 'secure-port'],
  ['Generic.Controllers', 'controllers'],
  ['Generic.ClientConnection.kubeconfig', 'kubeconfig'],
  ['Generic.ClientConnection.qps', 'kube-api-qps'],
  ['Generic.ClientConnection.burst', 'kube-api-burst'],
  ['Generic.LeaderElection.leaderElect', 'leader-elect'],
  ['Generic.LeaderElection.leaseDuration', 'leader-elect-lease-duration'],
  ['Generic.LeaderElection.renewDeadline', 'leader-elect-renew-deadline'],
  ['Generic.LeaderElection.retryPeriod', 'leader-elect-retry-period'],
  ['Generic.LeaderElection.resourceLock', 'leader-elect-resource-lock'],
  ['Generic.LeaderElection.resourceName', 'leader-elect-resource-name'],
  ['Generic.LeaderElection.resourceNamespace', 'leader-elect-resource-namespace'],
  ['KubeCloudShared.UseServiceAccountCredentials', 'use-service-account-credentials'],
  ['KubeCloudShared.AllocateNodeCIDRs', 'allocate-node-cidrs'],
  ['KubeCloudShared.ClusterCIDR', 'cluster-cidr'],
  ['KubeCloudShared.ClusterName', 'cluster-name'],
  ['NodeIPAMController.ServiceCIDR', 'service-cluster-ip-range'],
  ['NodeIPAMController.NodeCIDRMaskSize', 'node-cidr-mask-size'],
  ['NodeIPAMController.NodeCIDRMaskSizeIPv4', 'node-cidr-mask-size-ipv4'],
  ['NodeIPAMController.NodeCIDRMaskSizeIPv6', 'node-cidr-mask-size-ipv6'],
  ['SAController.RootCAFile', 'root-ca-file'],
  ['SAController.ServiceAccountKeyFile', 'service-account-private-key-file'],
  ['CSRSigningController.ClusterSigningCertFile', 'cluster-signing-cert-file'],
  ['CSRSigningController.ClusterSigningKeyFile', 'cluster-signing-key-file'],
  ['CSRSigningController.ClusterSigningDuration', 'cluster-signing-duration'],
  ['NodeLifecycleController.NodeMonitorGracePeriod', 'node-monitor-grace-period'],
  ['NodeLifecycleController.NodeStartupGracePeriod', 'node-startup-grace-period'],
  ['PodGCController.TerminatedPodGCThreshold', 'terminated-pod-gc-threshold'],
  ['HPAController.HorizontalPodAutoscalerSyncPeriod', 'horizontal-pod-autoscaler-sync-period'],
  [
    'HPAController.HorizontalPodAutoscalerDownscaleStabilizationWindow',
    'horizontal-pod-autoscaler-downscale-stabilization',
  ],
  ['HPAController.HorizontalPodAutoscalerTolerance', 'horizontal-pod-autoscaler-tolerance'],
  [
    'HPAController.HorizontalPodAutoscalerCPUInitializationPeriod',
    'horizontal-pod-autoscaler-cpu-initialization-period',
  ],
  [
    'HPAController.HorizontalPodAutoscalerInitialReadinessDelay',
    'horizontal-pod-autoscaler-initial-readiness-delay',
  ],
  ['EndpointController.EndpointUpdatesBatchPeriod', 'endpoint-updates-batch-period'],
  ['EndpointSliceController.EndpointUpdatesBatchPeriod', 'endpointslice-updates-batch-period'],
  ['EndpointSliceController.MaxEndpointsPerSlice', 'max-endpoints-per-slice'],
  ['LegacySATokenCleaner.CleanUpPeriod', 'legacy-service-account-token-clean-up-period'],
  ...concurrency.map(([flag, , field]) => [field, flag] as const),
])
