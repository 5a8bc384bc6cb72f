/** The contract of a volume type. `volume-plugins.ts` lists all types. */
import type { ImageVolumeSource, KeyToPath, PersistentVolume, Volume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { PodObjects } from '../pod-objects.ts'
import type { ResourceList } from '../resource-amount.ts'
import type { KeyedLocks } from './keyed-locks.ts'
import type { Payload } from './payload.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'

/** A volume that is ready for containers. */
export interface MountedVolume {
  readonly name: string
  /** Directory, file or device on the node; empty for image volumes. */
  readonly hostPath: string
  readonly readonly: boolean
  /** A block device for `volumeDevices`. */
  readonly isBlock?: boolean
  readonly selinuxRelabel?: boolean
  /** Image volume: the image is pulled when a container starts, and its id set as `image`. */
  readonly imageSource?: ImageVolumeSource
  readonly image?: { readonly id: string }
  /** Value of the annotation `pv.beta.kubernetes.io/gid` of the persistent volume. */
  readonly supplementalGroup?: number
}

export interface VolumePlugin {
  /**
   * Sets up the volume. Idempotent: called again after a kubelet restart, and repeatedly if `isContent`.
   * Throws an Error with a message for events.
   */
  setUp(request: VolumeRequest): Promise<MountedVolume>
  /** Returns a volume left by an earlier kubelet process if `prepare` fails. */
  reconstruct?(request: VolumeRequest): Promise<MountedVolume | undefined>
  /** The content is a copy of API objects and can change. */
  readonly isContent?: boolean
  /** How usage is measured for stats; not reported if absent. */
  readonly usage?: 'files' | 'filesystem'
}

/** Dependencies of all volume types. */
export interface VolumeContext {
  readonly platform: Platform
  readonly linux: Linux
  readonly node: KubeletConfiguration
  readonly objects: PodObjects
  readonly tokens: ServiceAccountTokens
  /** By persistent volume name. */
  readonly locks: KeyedLocks
  /** Node allocatable: `memory`. */
  readonly allocatable: () => ResourceList
}

export interface VolumeRequest extends VolumeContext {
  readonly pod: KubeletPod
  readonly volume: Volume
  /** The volume bound to the claim. */
  readonly persistentVolume?: Stored<PersistentVolume>
  /** Set by `readOnly` of the claim source. */
  readonly isReadonly: boolean
  /** Content written to this pod's volumes, by volume name; saves redundant writes. */
  readonly written: Map<string, Payload>
  readonly signal: AbortSignal
}

/** Selected keys of a ConfigMap or Secret. */
export interface KeysOf {
  readonly name?: string | undefined
  readonly items?: readonly KeyToPath[] | undefined
  readonly optional?: boolean | undefined
  readonly defaultMode?: number | undefined
}

/** An error in a step other than `MountVolume.SetUp failed`. */
export class VolumeStepError extends Error {
  readonly step: string
  constructor(step: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'VolumeStepError'
    this.step = step
  }
}
