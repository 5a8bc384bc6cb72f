/**
 * What has to be known to say how the sandbox and the containers of a pod are made. Whoever creates them gathers it;
 * `container-config.ts` decides.
 */
import type { ConfigMap, Container, Pod, Secret, Service, VolumeMount } from '#/api/generated/core/v1.ts'
import type { IdMapping, Image, RuntimeHandler } from '#/cri/cri.ts'
import type { NodeMachine } from './node-machine.ts'
import type { NodeSettings } from './node-settings.ts'

export interface SandboxContext {
  readonly attempt: number
  readonly node: NodeSettings
  readonly machine: NodeMachine
  /** The content of the file that the settings name; empty when there is none. */
  readonly hostResolvConf: string
  /** Of the pod's runtime class, as the runtime tells it; undefined when the runtime says nothing of its handlers. */
  readonly handler?: RuntimeHandler
  /** Whose processes are whose outside, for a pod with `hostUsers: false`. */
  readonly users?: UserMappings
}

export interface UserMappings {
  readonly uids: readonly IdMapping[]
  readonly gids: readonly IdMapping[]
}

export interface ContainerInput {
  readonly pod: Pod
  /** An init container, a regular one or one for debugging. */
  readonly container: Container
  /** How many containers of this name the pod had before. */
  readonly attempt: number
  readonly image: Image
  /** The pod's own; those of the node when the pod is on its network. */
  readonly podAddresses: readonly string[]
  /** Those that exist; which ones the pod hears of is decided here. */
  readonly services: readonly Service[]
  readonly volumes: ReadonlyMap<string, ContainerVolume>
  readonly sources: ContainerSources
  readonly node: NodeSettings
  readonly machine: NodeMachine
  readonly handler?: RuntimeHandler
  readonly users?: UserMappings
  /** Whose processes a container for debugging sees. */
  readonly targetContainerId?: string
}

/** As `PodVolumes.prepare` gives them. */
export interface ContainerVolume {
  readonly name: string
  readonly hostPath: string
  readonly readonly: boolean
  readonly isBlock?: boolean
  readonly selinuxRelabel?: boolean
  /** The volume is the content of an image. */
  readonly image?: { readonly id: string }
  /** The annotation `pv.beta.kubernetes.io/gid` of the persistent volume. */
  readonly supplementalGroup?: number
}

/** What has to be looked up; asked for only what the container names. */
export interface ContainerSources {
  /** In the pod's namespace; undefined when there is none. */
  configMap(name: string): Promise<ConfigMap | undefined>
  secret(name: string): Promise<Secret | undefined>
  /** The host's path for a mount of a part of a volume. `mount.subPath` is set, variables in it are expanded. */
  subPath(mount: VolumeMount, index: number): Promise<string>
  /** The text of a file in a volume, without following links out of it; undefined when it is not there. */
  file(volume: ContainerVolume, path: string): Promise<string | undefined>
}
