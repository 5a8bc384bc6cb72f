/**
 * What a node is told when it is set up, by flags or by whoever composes it. What it finds out about its machine is not
 * here: that is `node-machine.ts`.
 */
import type { Taint } from '#/api/generated/core/v1.ts'

export interface NodeSettings {
  readonly name: string
  /** The node's own, the one it is known by first. */
  readonly addresses: readonly string[]
  /** Where the kubelet keeps what belongs to pods: see `pod-paths.ts`. */
  readonly folder: string
  /** Every manifest of a pod in here is run: static pods. */
  readonly manifestsFolder: string
  /** Has a folder for each pod with the logs of its containers. */
  readonly logsFolder: string
  /** Where pods ask for names; none when the cluster has no DNS. */
  readonly clusterDns: readonly string[]
  /** `cluster.local`. */
  readonly clusterDomain: string
  /** The control group below which `kubepods` is: `/k8ts-0`. `/` is the machine's own. */
  readonly cgroupRoot: string
  readonly podsMax: number
  /** Processes that one pod may have; -1 when that is not limited. */
  readonly podPidsMax: number
  readonly podCidr?: string
  /** Only for a node that is not registered yet. */
  readonly registerTaints: readonly Taint[]
  readonly labels: Readonly<Record<string, string>>
  /** Kept from pods: `cpu`, `memory`, `ephemeral-storage`, `pid`. */
  readonly reserved: Readonly<Record<string, string>>
  /**
   * What must stay free, by signal: `memory.available`, `nodefs.available`, `nodefs.inodesFree`, `imagefs.available`,
   * `imagefs.inodesFree`, `pid.available`. An amount, or a share of the whole such as `10%`.
   */
  readonly evictionHard: Readonly<Record<string, string>>
  /** A file; pods that do not use the cluster's DNS get what it says. Empty when they get none. */
  readonly hostResolvConf: string
  /** Names of sysctls, or beginnings of names with `*`, that pods may set beside those that are safe. */
  readonly allowedUnsafeSysctls: readonly string[]
  /** Containers that say nothing of seccomp get the profile of the runtime instead of none. */
  readonly seccompDefault: boolean
  readonly imageGc: ImageGcSettings
  readonly containerLog: ContainerLogSettings
  readonly kubeletPort: number
}

export interface ImageGcSettings {
  /** Above this the oldest unused images go, until below `lowPercent`. */
  readonly highPercent: number
  readonly lowPercent: number
  readonly minimumAgeMs: number
}

export interface ContainerLogSettings {
  readonly maxBytes: number
  readonly maxFiles: number
}

/** What has to be said, and what may be said beside it. */
export type NodeSettingsInput = Pick<NodeSettings, 'name' | 'addresses' | 'folder' | 'cgroupRoot'> &
  Partial<NodeSettings>

/** The rest is as Kubernetes has it by default. */
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
