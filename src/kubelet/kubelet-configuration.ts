/**
 * Static configuration of a node, from flags or from code. Facts about the machine are in `machine-info.ts`.
 */
import type { Taint } from '#/api/generated/core/v1.ts'
import { runtimeRequestTimeoutMs } from '#/cri/cri.ts'

export interface KubeletConfiguration {
  readonly name: string
  /** Node addresses, primary first. */
  readonly addresses: readonly string[]
  /** The kubelet's root directory: see `pod-paths.ts`. */
  readonly rootDirectory: string
  /** Directory of static pod manifests. */
  readonly staticPodPath: string
  /** Contains one directory per pod with container logs. */
  readonly podLogsDir: string
  /** DNS servers of pods; empty if the cluster has no DNS. */
  readonly clusterDNS: readonly string[]
  /** Such as `cluster.local`. */
  readonly clusterDomain: string
  /** Parent cgroup of `kubepods`, such as `/k8ts-0`; `/` for the root cgroup. */
  readonly cgroupRoot: string
  readonly podsMax: number
  /** Maximum number of processes per pod; -1 means no limit. */
  readonly podPidsMax: number
  readonly podCidr?: string
  /** False if another program creates the Node object. */
  readonly registerNode: boolean
  readonly providerId?: string
  /** Applied only when the node registers for the first time. */
  readonly registerTaints: readonly Taint[]
  readonly labels: Readonly<Record<string, string>>
  /** Resources reserved for the system: `cpu`, `memory`, `ephemeral-storage`, `pid`. */
  readonly systemReserved: Readonly<Record<string, string>>
  /**
   * Hard eviction thresholds by signal: `memory.available`, `nodefs.available`, `nodefs.inodesFree`,
   * `imagefs.available`, `imagefs.inodesFree`, `pid.available`. A quantity, or a percentage such as `10%`.
   */
  readonly evictionHard: Readonly<Record<string, string>>
  /** Soft eviction thresholds: they evict pods when they are met for the whole `evictionSoftGracePeriod`. */
  readonly evictionSoft: Readonly<Record<string, string>>
  /** By signal, such as `1m30s`. Each soft threshold needs one. */
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>
  /** Maximum grace period, in seconds, of pods evicted by a soft threshold. */
  readonly evictionMaxPodGracePeriod: number
  /** By signal: eviction ends when this much more than the threshold is available. */
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>
  /** How long a pressure condition stays true after the signal recovered, such as `5m`. */
  readonly evictionPressureTransitionPeriod: string
  /** Path of the resolv.conf for pods that do not use cluster DNS. Empty for none. */
  readonly resolvConf: string
  /** Sysctls, or prefixes ending in `*`, allowed in addition to the safe ones. */
  readonly allowedUnsafeSysctls: readonly string[]
  /** Use the `RuntimeDefault` seccomp profile for containers that set none. */
  readonly seccompDefault: boolean
  readonly imageGc: ImageGcSettings
  readonly containerLog: ContainerLogSettings
  readonly kubeletPort: number
  /** Address of the server; the primary address of the node when absent. */
  readonly serverAddress?: string
  readonly webhookCache: WebhookCacheSettings
  /** Interval in which the node status is computed. */
  readonly nodeStatusUpdateMs: number
  /** Interval in which an unchanged node status is written. */
  readonly nodeStatusReportMs: number
  readonly nodeLeaseDurationSeconds: number
  /** Deadline of calls to the container runtime, in addition to the time that their work may take. */
  readonly runtimeRequestTimeoutMs: number
  /** Exec, attach and port-forward connections are closed after this time without traffic. */
  readonly streamingConnectionIdleTimeoutMs: number
}

export interface ImageGcSettings {
  /** Disk usage above which unused images are removed, until it is below `lowPercent`. */
  readonly highPercent: number
  readonly lowPercent: number
  readonly minimumAgeMs: number
}

export interface ContainerLogSettings {
  readonly maxBytes: number
  readonly maxFiles: number
}

/** How long answers of the API server about clients of the kubelet are cached. */
export interface WebhookCacheSettings {
  readonly tokenMs: number
  readonly allowedMs: number
  readonly deniedMs: number
}

/** Required and optional settings. */
export type KubeletConfigurationInput = Pick<
  KubeletConfiguration,
  'name' | 'addresses' | 'rootDirectory' | 'cgroupRoot'
> &
  Partial<KubeletConfiguration>

/** Fills in Kubernetes' defaults, but limits the processes of pods. */
export function kubeletConfiguration(given: KubeletConfigurationInput): KubeletConfiguration {
  return {
    podLogsDir: `${given.rootDirectory}/logs/pods`,
    staticPodPath: `${given.rootDirectory}/manifests`,
    clusterDNS: [],
    clusterDomain: 'cluster.local',
    podsMax: 110,
    podPidsMax: 4_096,
    registerNode: true,
    registerTaints: [],
    labels: {},
    systemReserved: {},
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    },
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMaxPodGracePeriod: 0,
    evictionMinimumReclaim: {},
    evictionPressureTransitionPeriod: '5m',
    resolvConf: '/etc/resolv.conf',
    allowedUnsafeSysctls: [],
    seccompDefault: false,
    imageGc: { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000 },
    containerLog: { maxBytes: 10 * 1024 * 1024, maxFiles: 5 },
    kubeletPort: 10_250,
    webhookCache: { tokenMs: 120_000, allowedMs: 300_000, deniedMs: 30_000 },
    nodeStatusUpdateMs: 10_000,
    nodeStatusReportMs: 300_000,
    nodeLeaseDurationSeconds: 40,
    runtimeRequestTimeoutMs,
    streamingConnectionIdleTimeoutMs: 4 * 3_600_000,
    ...given,
  }
}
