/**
 * The volumes of pods on this node: made before containers start, kept up to date while they run, gone when the pod is.
 * What a pod has is found on disk and in the table of mounts again after a crash; what is remembered here only saves
 * work. `volumes/volume-kinds.ts` has the kinds. Nothing here waits for anything but files, mounts and the API: whoever
 * calls decides when to try again. No kind of volume here has to be attached to the node first: the node's status lists
 * none.
 */
import { assert } from '#/base/assert.ts'
import type { PersistentVolume, Pod, VolumeMount } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { NodeSettings } from './node-settings.ts'
import type { PodObjects } from './pod-objects.ts'
import { podFolder, podsFolder } from './pod-paths.ts'
import type { ResourceList } from './resource-amount.ts'
import { checkNodeAffinity, claimedVolume, groupOfVolume, isClaim } from './volumes/claimed-volume.ts'
import { KeyedLocks } from './volumes/keyed-locks.ts'
import { unmountUnused } from './volumes/local.ts'
import type { Payload } from './volumes/payload.ts'
import { removePodFolder } from './volumes/remove-pod.ts'
import { ServiceAccountTokens } from './volumes/service-account-tokens.ts'
import { prepareSubPath } from './volumes/sub-path.ts'
import { usedVolumes, type UsedVolume } from './volumes/used-volumes.ts'
import { VolumeError, type VolumeFailure } from './volumes/volume-error.ts'
import type { PreparedVolume, VolumeKind, VolumeRequest } from './volumes/volume-kind.ts'
import { kindOfPersistentVolume, kindOfVolume } from './volumes/volume-kinds.ts'
import { uidOf } from './volumes/volume-paths.ts'
import { volumeUsage, type VolumeUsage } from './volumes/volume-usage.ts'

export type { PreparedVolume } from './volumes/volume-kind.ts'
export type { VolumeUsage } from './volumes/volume-usage.ts'
export { VolumeError, volumeWaitMs } from './volumes/volume-error.ts'

export interface PodVolumesOptions {
  readonly platform: Platform
  readonly linux: Linux
  /** As `system:node:NAME`. */
  readonly client: Client
  readonly node: NodeSettings
  /** It is told of pods here, and must run. */
  readonly objects: PodObjects
  /** What the node has to give: `memory`, `cpu`, `ephemeral-storage`. */
  readonly allocatable: () => ResourceList
}

export interface SubPathOfMount {
  readonly pod: Pod
  readonly container: string
  /** Variables in its `subPath` are expanded. */
  readonly mount: VolumeMount
  /** Which of the container's mounts it is. */
  readonly index: number
}

/** Volumes of one pod that are made at the same time. */
const atOnceMax = 8

/** A file in a volume that is read for variables. */
const fileBytesMax = 1024 * 1024

interface PodState {
  readonly volumes: Map<string, KnownVolume>
  readonly written: Map<string, Payload>
}

interface KnownVolume {
  readonly prepared: PreparedVolume
  readonly kind: VolumeKind
  readonly persistentVolume: PersistentVolume | undefined
}

export class PodVolumes {
  readonly #options: PodVolumesOptions
  readonly #tokens: ServiceAccountTokens
  readonly #pods = new Map<string, PodState>()
  /** By uid: nothing is made for a pod while it is taken away. */
  readonly #podLocks = new KeyedLocks()
  readonly #volumeLocks = new KeyedLocks()
  #realFolder: Promise<string> | undefined

  constructor(options: PodVolumesOptions) {
    this.#options = options
    this.#tokens = new ServiceAccountTokens(options)
  }

  /**
   * Makes all volumes ready that containers of the pod use, and brings those up to date that hold copies. Throws
   * VolumeError when one is not ready; one that was ready once stays so, even where it could not be brought up to date.
   */
  prepare(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, PreparedVolume>> {
    return this.#podLocks.run(uidOf(pod), async () => {
      this.#options.objects.follow(pod)
      const state = this.#stateOf(pod)
      const failures = await this.#prepareEach(pod, usedVolumes(pod), signal)
      const missing = failures.filter(({ volume }) => !state.volumes.has(volume))
      if (missing.length > 0) throw new VolumeError(missing)
      return new Map([...state.volumes].map(([name, { prepared }]) => [name, prepared]))
    })
  }

  /** Brings those up to date that hold copies, and renews tokens. Throws VolumeError where that fails. */
  refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.#podLocks.run(uidOf(pod), async () => {
      const ready = this.#pods.get(uidOf(pod))?.volumes
      const contents = usedVolumes(pod).filter(({ volume }) => ready?.get(volume.name)?.kind.isContent)
      const failures = await this.#prepareEach(pod, contents, signal)
      if (failures.length > 0) throw new VolumeError(failures)
    })
  }

  /** When tokens of the pod are to be renewed by `refresh`; undefined when it has none. */
  nextRefreshMs(pod: Pod): number | undefined {
    return this.#tokens.nextRenewalMs(uidOf(pod))
  }

  /** The host's path of a part of a volume, which no container can lead elsewhere. The volume must be ready. */
  async subPath({ pod, container, mount, index }: SubPathOfMount): Promise<string> {
    const uid = uidOf(pod)
    const node = await this.#node()
    return this.#podLocks.run(uid, () => {
      const { linux } = this.#options
      const volume = this.#pods.get(uid)?.volumes.get(mount.name)?.prepared
      if (volume === undefined) throw new Error(`volume ${mount.name} is not ready`)
      return prepareSubPath({ linux, node, uid, container, index, volume, path: mount.subPath ?? '' })
    })
  }

  /** The text of a file in a volume, without following links out of it; undefined when it is not there. */
  async readFile(volume: Pick<PreparedVolume, 'hostPath'>, path: string): Promise<string | undefined> {
    const { files } = this.#options.linux
    try {
      await using held = await files.openBeneath(volume.hostPath, path)
      const status = await files.stat(held.path)
      // A pipe would never come to an end.
      if (status?.type !== 'file') throw new Error(`${path} is not a file`)
      if (status.sizeBytes > fileBytesMax) throw new Error(`${path} is larger than ${fileBytesMax} bytes`)
      return new TextDecoder().decode(await files.readRange(held.path, 0, fileBytesMax))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Unmounts and removes all that the pod has in its folder. None of its containers may run. */
  release(uid: string, signal: AbortSignal): Promise<void> {
    return this.#podLocks.run(uid, async () => {
      assert(/^[^/]+$/.test(uid) && !uid.startsWith('.'), 'a uid is the name of a folder')
      const { objects, linux } = this.#options
      objects.forget(uid)
      this.#tokens.forget(uid)
      this.#pods.delete(uid)
      const node = await this.#node()
      await removePodFolder(linux, podFolder(node, uid), signal)
      await unmountUnused({ node, linux, locks: this.#volumeLocks })
    })
  }

  /** The uids of pods that have something on disk. */
  async known(): Promise<readonly string[]> {
    const { platform } = this.#options
    const folder = podsFolder(await this.#node())
    return (await platform.files.stat(folder)) === undefined ? [] : platform.files.list(folder)
  }

  /** What volumes that are ready take; those that the node's own files are in are left out. */
  async usage(pod: Pod, signal?: AbortSignal): Promise<readonly VolumeUsage[]> {
    const { linux } = this.#options
    const usages: VolumeUsage[] = []
    for (const volume of pod.spec?.volumes ?? []) {
      const { kind, prepared } = this.#pods.get(uidOf(pod))?.volumes.get(volume.name) ?? {}
      if (!kind?.usage || !prepared || prepared.isBlock) continue
      try {
        usages.push(await volumeUsage({ linux, pod, volume, prepared, usage: kind.usage, signal }))
      } catch (error) {
        signal?.throwIfAborted()
        this.#options.platform.log.debug('a volume could not be measured', { volume: volume.name, error })
      }
    }
    return usages
  }

  async #prepareEach(
    pod: Pod,
    volumes: readonly UsedVolume[],
    signal: AbortSignal,
  ): Promise<readonly VolumeFailure[]> {
    const failures: VolumeFailure[] = []
    for (let first = 0; first < volumes.length; first += atOnceMax) {
      const some = volumes.slice(first, first + atOnceMax)
      const results = await Promise.all(some.map(used => this.#prepareOne(pod, used, signal)))
      for (const failure of results) if (failure) failures.push(failure)
      signal.throwIfAborted()
    }
    return failures
  }

  async #prepareOne(pod: Pod, used: UsedVolume, signal: AbortSignal): Promise<VolumeFailure | undefined> {
    const { name } = used.volume
    const { volumes } = this.#stateOf(pod)
    const known = volumes.get(name)
    if (known && !known.kind.isContent) return undefined
    let shownName = name
    let adopt: (() => Promise<PreparedVolume | undefined>) | undefined
    try {
      const persistentVolume = await this.#persistentVolumeOf(pod, used, signal)
      shownName = persistentVolume?.metadata?.name ?? name
      const kind = persistentVolume ? kindOfPersistentVolume(persistentVolume) : kindOfVolume(used.volume)
      const request = await this.#requestFor(pod, used, { persistentVolume, signal })
      adopt = async () => {
        const prepared = await kind.adopt?.(request)
        if (prepared) volumes.set(name, { prepared, kind, persistentVolume })
        return prepared
      }
      if (persistentVolume) await this.#checkPersistentVolume(pod, persistentVolume, signal)
      const group = persistentVolume && groupOfVolume(persistentVolume)
      const prepared = {
        ...(await kind.prepare(request)),
        ...(group !== undefined && { supplementalGroup: group }),
      }
      volumes.set(name, { prepared, kind, persistentVolume })
      return undefined
    } catch (error) {
      // The others are still at work: nothing is given up before they have ended.
      if (signal.aborted) return { volume: name, shownName, error }
      this.#options.platform.log.info('a volume is not ready', { pod: uidOf(pod), volume: name, error })
      if (!known) await adopt?.()
      return { volume: name, shownName, error }
    }
  }

  async #persistentVolumeOf(
    pod: Pod,
    { volume, isMounted, isDevice }: UsedVolume,
    signal: AbortSignal,
  ): Promise<PersistentVolume | undefined> {
    const { objects } = this.#options
    return isClaim(volume) ? claimedVolume({ objects, pod, volume, isMounted, isDevice, signal }) : undefined
  }

  async #checkPersistentVolume(pod: Pod, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#options
    const { accessModes = [], nodeAffinity } = volume.spec ?? {}
    if (nodeAffinity?.required) {
      const self = await client.get(nodes, { name: node.name }, { signal })
      checkNodeAffinity(volume, self.metadata?.labels ?? {})
    }
    if (
      accessModes.length === 1 &&
      accessModes[0] === 'ReadWriteOncePod' &&
      this.#isUsedByOther(pod, volume)
    ) {
      throw new Error('volume uses the ReadWriteOncePod access mode and is already in use by another pod')
    }
  }

  #isUsedByOther(pod: Pod, { metadata }: PersistentVolume): boolean {
    return [...this.#pods].some(([uid, { volumes }]) => {
      if (uid === uidOf(pod)) return false
      return [...volumes.values()].some(each => each.persistentVolume?.metadata?.name === metadata?.name)
    })
  }

  async #requestFor(
    pod: Pod,
    { volume }: UsedVolume,
    {
      persistentVolume,
      signal,
    }: Pick<VolumeRequest, 'signal'> & { persistentVolume: PersistentVolume | undefined },
  ): Promise<VolumeRequest> {
    const { platform, linux, objects, allocatable } = this.#options
    return {
      platform,
      linux,
      node: await this.#node(),
      objects,
      tokens: this.#tokens,
      locks: this.#volumeLocks,
      allocatable,
      pod,
      volume,
      isReadonly: volume.persistentVolumeClaim?.readOnly ?? false,
      written: this.#stateOf(pod).written,
      signal,
      ...(persistentVolume && { persistentVolume }),
    }
  }

  #stateOf(pod: Pod): PodState {
    const uid = uidOf(pod)
    const state = this.#pods.get(uid) ?? { volumes: new Map(), written: new Map() }
    this.#pods.set(uid, state)
    return state
  }

  /** With its folder as the table of mounts has it, so that what is mounted there is found again. */
  async #node(): Promise<NodeSettings> {
    const { node, linux } = this.#options
    // Whoever is on the machine must not read what pods have, whatever its mode.
    this.#realFolder ??= linux.files
      .makeFolderUnsynced(podsFolder(node), 0o750)
      .then(() => linux.files.realPath(node.folder))
      .catch((error: unknown) => {
        this.#realFolder = undefined
        throw error
      })
    return { ...node, folder: await this.#realFolder }
  }
}
