/**
 * Static configuration of a node, from flags or from code. Facts about the machine are in `node-machine.ts`.
 */
import type { Taint } from '#/api/generated/core/v1.ts'

export interface NodeSettings {
  readonly name: string
  /** Node addresses, primary first. */
  readonly addresses: readonly string[]
  /** The kubelet's root directory: see `pod-paths.ts`. */
  readonly folder: string
  /** Directory of static pod manifests. */
  readonly manifestsFolder: string
  /** Contains one directory per pod with container logs. */
  readonly logsFolder: string
  /** DNS servers of pods; empty if the cluster has no DNS. */
  readonly clusterDns: readonly string[]
  /** Such as `cluster.local`. */
  readonly clusterDomain: string
  /** Parent cgroup of `kubepods`, such as `/k8ts-0`; `/` for the root cgroup. */
  readonly cgroupRoot: string
  readonly podsMax: number
  /** Maximum number of processes per pod; -1 means no limit. */
  readonly podPidsMax: number
  readonly podCidr?: string
  /** Applied only when the node registers for the first time. */
  readonly registerTaints: readonly Taint[]
  readonly labels: Readonly<Record<string, string>>
  /** Resources reserved for the system: `cpu`, `memory`, `ephemeral-storage`, `pid`. */
  readonly reserved: Readonly<Record<string, string>>
  /**
   * Hard eviction thresholds by signal: `memory.available`, `nodefs.available`, `nodefs.inodesFree`,
   * `imagefs.available`, `imagefs.inodesFree`, `pid.available`. A quantity, or a percentage such as `10%`.
   */
  readonly evictionHard: Readonly<Record<string, string>>
  /** Path of the resolv.conf for pods that do not use cluster DNS. Empty for none. */
  readonly hostResolvConf: string
  /** Sysctls, or prefixes ending in `*`, allowed in addition to the safe ones. */
  readonly allowedUnsafeSysctls: readonly string[]
  /** Use the `RuntimeDefault` seccomp profile for containers that set none. */
  readonly seccompDefault: boolean
  readonly imageGc: ImageGcSettings
  readonly containerLog: ContainerLogSettings
  readonly kubeletPort: number
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

/** Required and optional settings. */
export type NodeSettingsInput = Pick<NodeSettings, 'name' | 'addresses' | 'folder' | 'cgroupRoot'> &
  Partial<NodeSettings>

/** Fills in Kubernetes' defaults. */
export function nodeSettings(given: NodeSettingsInput): NodeSettings {
  return {
    logsFolder: `${given.folder}/logs/pods`,
    manifestsFolder: `${given.folder}/manifests`,
    clusterDns: [],
    clusterDomain: 'cluster.local',
    podsMax: 110,
    podPidsMax: -1,
    registerTaints: [],
    labels: {},
    reserved: {},
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    },
    hostResolvConf: '/etc/resolv.conf',
    allowedUnsafeSysctls: [],
    seccompDefault: false,
    imageGc: { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000 },
    containerLog: { maxBytes: 10 * 1024 * 1024, maxFiles: 5 },
    kubeletPort: 10_250,
    ...given,
  }
}
