/** What a kind of volume is: a value that knows how to make one ready for a pod. `volume-kinds.ts` lists them all. */
import type { ImageVolumeSource, KeyToPath, PersistentVolume, Pod, Volume } from '#/api/generated/core/v1.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { NodeSettings } from '../node-settings.ts'
import type { PodObjects } from '../pod-objects.ts'
import type { ResourceList } from '../resource-amount.ts'
import type { KeyedLocks } from './keyed-locks.ts'
import type { Payload } from './payload.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'

/** A volume as containers can have it. */
export interface PreparedVolume {
  readonly name: string
  /** A folder, a file or a device of the node; empty for the content of an image. */
  readonly hostPath: string
  readonly readonly: boolean
  /** A device, for containers that name it in `volumeDevices`. */
  readonly isBlock?: boolean
  readonly selinuxRelabel?: boolean
  /** The content of this image: whoever starts a container pulls it first, and adds its id as `image`. */
  readonly imageSource?: ImageVolumeSource
  readonly image?: { readonly id: string }
  /** The annotation `pv.beta.kubernetes.io/gid` of the persistent volume. */
  readonly supplementalGroup?: number
}

export interface VolumeKind {
  /**
   * Makes the volume ready, or does nothing when it is: it is asked again after the kubelet was restarted, and at any
   * moment when `isContent`. Throws an Error that says to people what is wrong.
   */
  prepare(request: VolumeRequest): Promise<PreparedVolume>
  /** What is there of an earlier life of the kubelet, where it cannot be brought up to date. */
  adopt?(request: VolumeRequest): Promise<PreparedVolume | undefined>
  /** It holds a copy of something that may change. */
  readonly isContent?: boolean
  /** What it uses of the node's disk or memory is told. */
  readonly usage?: 'files' | 'filesystem'
}

/** What all volumes need to be made. */
export interface VolumeContext {
  readonly platform: Platform
  readonly linux: Linux
  readonly node: NodeSettings
  readonly objects: PodObjects
  readonly tokens: ServiceAccountTokens
  /** By names of persistent volumes. */
  readonly locks: KeyedLocks
  /** What the node has to give: `memory`. */
  readonly allocatable: () => ResourceList
}

export interface VolumeRequest extends VolumeContext {
  readonly pod: Pod
  readonly volume: Volume
  /** What the volume's claim is bound to. */
  readonly persistentVolume?: PersistentVolume
  /** Whoever claims it said so. */
  readonly isReadonly: boolean
  /** What is written in volumes of this pod, by the name of the volume: to write it again is no work. */
  readonly written: Map<string, Payload>
  readonly signal: AbortSignal
}

/** Which keys of a config map or a secret, and how. */
export interface KeysOf {
  readonly name?: string | undefined
  readonly items?: readonly KeyToPath[] | undefined
  readonly optional?: boolean | undefined
  readonly defaultMode?: number | undefined
}

/** A failure in some other step than the usual `MountVolume.SetUp failed`. */
export class VolumeStepError extends Error {
  readonly step: string
  constructor(step: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'VolumeStepError'
    this.step = step
  }
}
