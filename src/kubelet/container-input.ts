/**
 * Input of `container-config.ts`: everything needed to configure a pod's sandbox and containers. The caller
 * gathers it.
 */
import type { ConfigMap, Container, Secret, Service, VolumeMount } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { IdMapping, Image, RuntimeHandler } from '#/cri/cri.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { MachineInfo } from './machine-info.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'

export interface SandboxContext {
  readonly attempt: number
  readonly node: KubeletConfiguration
  readonly machine: MachineInfo
  /** Content of the node's resolv.conf; empty if none is configured. */
  readonly resolvConf: string
  /** Handler of the pod's RuntimeClass; undefined if the runtime does not report its handlers. */
  readonly handler?: RuntimeHandler
  /** User namespace mappings of a pod with `hostUsers: false`. */
  readonly users?: UserMappings
}

export interface UserMappings {
  readonly uids: readonly IdMapping[]
  readonly gids: readonly IdMapping[]
}

export interface ContainerInput {
  readonly pod: KubeletPod
  /** An init, regular or ephemeral container. */
  readonly container: Container
  /** Number of earlier containers of this name in the pod. */
  readonly attempt: number
  readonly image: Image
  /** Pod IPs; the node's addresses with `hostNetwork`. */
  readonly podAddresses: readonly string[]
  /** All services; the ones visible to the pod are selected here. */
  readonly services: readonly Stored<Service>[]
  readonly volumes: ReadonlyMap<string, ContainerVolume>
  readonly sources: ContainerSources
  readonly node: KubeletConfiguration
  readonly machine: MachineInfo
  readonly handler?: RuntimeHandler
  readonly users?: UserMappings
  /** Target container: an ephemeral container joins its PID namespace. */
  readonly targetContainerId?: string
}

/** As returned by `PodVolumes.prepare`. */
export interface ContainerVolume {
  readonly name: string
  readonly hostPath: string
  readonly readonly: boolean
  readonly isBlock?: boolean
  readonly selinuxRelabel?: boolean
  /** Set for image volumes. */
  readonly image?: { readonly id: string }
  /** Value of the annotation `pv.beta.kubernetes.io/gid` of the persistent volume. */
  readonly supplementalGroup?: number
}

/** Lookups, called only for what the container references. */
export interface ContainerSources {
  /** In the pod's namespace; undefined if it does not exist. */
  configMap(name: string): Promise<ConfigMap | undefined>
  secret(name: string): Promise<Secret | undefined>
  /** Host path of a `subPath` mount. `mount.subPath` is set and its variables are expanded. */
  subPath(mount: VolumeMount, index: number): Promise<string>
  /**
   * Content of a file in a volume; symlinks are not followed out of the volume. Undefined if it does not
   * exist.
   */
  file(volume: ContainerVolume, path: string): Promise<string | undefined>
}
