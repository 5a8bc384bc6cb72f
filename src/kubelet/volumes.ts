/**
 * Volumes of the node's pods: set up before containers start, refreshed while they run, torn down with the
 * pod. State is recovered from the disk and the mount table after a crash; the memory is only a cache.
 * `volumes/volume-plugins.ts` lists the volume types. It waits only for files, mounts and the API; the caller
 * schedules retries. None of the volume types has to be attached, so the node status lists no attached
 * volumes.
 */
import { assert } from '#/base/assert.ts'
import type { PersistentVolume, Volume, VolumeMount } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Linux, MountPoint } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { PodObjects } from './pod-objects.ts'
import { podFolder, podsFolder } from './pod-paths.ts'
import type { ResourceList } from './resource-amount.ts'
import { checkNodeAffinity, claimedVolume, groupOfVolume, isClaim } from './volumes/claimed-volume.ts'
import { KeyedLocks } from './volumes/keyed-locks.ts'
import { unmountUnused } from './volumes/local.ts'
import type { Payload } from './volumes/payload.ts'
import { ServiceAccountTokens } from './volumes/service-account-tokens.ts'
import { prepareSubPath } from './volumes/sub-path.ts'
import { usedVolumes, type UsedVolume } from './volumes/volume-mounts.ts'
import { VolumeError, type VolumeFailure } from './volumes/volume-error.ts'
import type { MountedVolume, VolumePlugin, VolumeRequest } from './volumes/volume-plugin.ts'
import { pluginName, pluginOfPersistentVolume, pluginOfVolume } from './volumes/volume-plugins.ts'
import { isEphemeral, volumeUsage, type VolumeUsage } from './volumes/volume-usage.ts'

export type { MountedVolume } from './volumes/volume-plugin.ts'
export type { VolumeUsage } from './volumes/volume-usage.ts'
export { VolumeError, volumeWaitMs } from './volumes/volume-error.ts'

export interface PodVolumesOptions {
  readonly platform: Platform
  readonly linux: Linux
  /** Authenticated as `system:node:NAME`. */
  readonly client: Client
  readonly node: KubeletConfiguration
  readonly metrics: KubeletMetrics
  /** Pods are registered here; the caller has to run it. */
  readonly objects: PodObjects
  /** Node allocatable: `memory`, `cpu`, `ephemeral-storage`. */
  readonly allocatable: () => ResourceList
}

export interface SubPathOfMount {
  readonly pod: KubeletPod
  readonly container: string
  /** Variables in its `subPath` are expanded. */
  readonly mount: VolumeMount
  /** Index among the container's mounts. */
  readonly index: number
}

/** Maximum number of volumes of a pod set up in parallel. */
const atOnceMax = 8

/** Maximum size of a file read for environment variables. */
const fileBytesMax = 1024 * 1024

interface VolumeCounts {
  readonly mountedVolumes: ReadonlyMap<string, number>
  readonly wantedVolumes: ReadonlyMap<string, number>
}

interface PodState {
  readonly volumes: Map<string, KnownVolume>
  readonly written: Map<string, Payload>
}

interface KnownVolume {
  readonly mounted: MountedVolume
  readonly plugin: VolumePlugin
  readonly persistentVolume: Stored<PersistentVolume> | undefined
}

export class PodVolumes {
  readonly #options: PodVolumesOptions
  readonly #tokens: ServiceAccountTokens
  readonly #pods = new Map<string, PodState>()
  /** By UID; serializes setup and teardown of a pod. */
  readonly #podLocks = new KeyedLocks()
  readonly #volumeLocks = new KeyedLocks()
  #realFolder: Promise<string> | undefined

  constructor(options: PodVolumesOptions) {
    this.#options = options
    this.#tokens = new ServiceAccountTokens(options)
  }

  /**
   * Sets up all volumes used by the pod's containers and refreshes projected content. Throws VolumeError if a
   * volume is not ready; a volume that was ready stays ready even if its refresh failed.
   */
  mount(pod: KubeletPod, signal: AbortSignal): Promise<ReadonlyMap<string, MountedVolume>> {
    return this.#podLocks.run(pod.metadata.uid, async () => {
      this.#options.objects.registerPod(pod)
      const state = this.#stateOf(pod)
      const failures = await this.#mountEach(pod, usedVolumes(pod), signal)
      const missing = failures.filter(({ volume }) => !state.volumes.has(volume))
      if (missing.length > 0) throw new VolumeError(missing)
      return new Map([...state.volumes].map(([name, { mounted }]) => [name, mounted]))
    })
  }

  /** Refreshes projected content and renews tokens. Throws VolumeError on failure. */
  refresh(pod: KubeletPod, signal: AbortSignal): Promise<void> {
    return this.#podLocks.run(pod.metadata.uid, async () => {
      const ready = this.#pods.get(pod.metadata.uid)?.volumes
      const contents = usedVolumes(pod).filter(({ volume }) => ready?.get(volume.name)?.plugin.isContent)
      const failures = await this.#mountEach(pod, contents, signal)
      if (failures.length > 0) throw new VolumeError(failures)
    })
  }

  /** Delay until a token of the pod has to be renewed by `refresh`; undefined if it has none. */
  nextRefreshMs(pod: KubeletPod): number | undefined {
    return this.#tokens.nextRenewalMs(pod.metadata.uid)
  }

  /**
   * Host path of a volume's subPath, safe against symlink attacks from containers. The volume must be ready.
   */
  async subPath({ pod, container, mount, index }: SubPathOfMount): Promise<string> {
    const { uid } = pod.metadata
    const node = await this.#node()
    return this.#podLocks.run(uid, () => {
      const { linux } = this.#options
      const volume = this.#pods.get(uid)?.volumes.get(mount.name)?.mounted
      if (volume === undefined) throw new Error(`volume ${mount.name} is not ready`)
      return prepareSubPath({ linux, node, uid, container, index, volume, path: mount.subPath ?? '' })
    })
  }

  /**
   * Content of a file in a volume; symlinks are not followed out of the volume. Undefined if it does not
   * exist.
   */
  async readFile(volume: Pick<MountedVolume, 'hostPath'>, path: string): Promise<string | undefined> {
    const { files } = this.#options.linux
    try {
      await using held = await files.openBeneath(volume.hostPath, path)
      const status = await files.stat(held.path)
      // Reading a FIFO would block forever.
      if (status?.type !== 'file') throw new Error(`${path} is not a file`)
      if (status.sizeBytes > fileBytesMax) throw new Error(`${path} is larger than ${fileBytesMax} bytes`)
      return new TextDecoder().decode(await files.readRange(held.path, 0, fileBytesMax))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Unmounts and removes the pod's directory. None of its containers may be running. */
  unmount(uid: string, signal: AbortSignal): Promise<void> {
    return this.#podLocks.run(uid, async () => {
      assert(/^[^/]+$/.test(uid) && !uid.startsWith('.'), 'a uid is the name of a folder')
      const { objects, linux } = this.#options
      objects.unregisterPod(uid)
      this.#tokens.forget(uid)
      this.#pods.delete(uid)
      const node = await this.#node()
      await removePodFolder(linux, podFolder(node, uid), signal)
      await unmountUnused({ node, linux, locks: this.#volumeLocks })
    })
  }

  /** UIDs of pods that have a directory on disk. */
  async podsWithVolumes(): Promise<readonly string[]> {
    const { platform } = this.#options
    const folder = podsFolder(await this.#node())
    return (await platform.files.stat(folder)) === undefined ? [] : platform.files.list(folder)
  }

  /** Usage of volumes that are ready, except those that contain the node's own files. */
  usage(pod: KubeletPod, signal?: AbortSignal): Promise<readonly VolumeUsage[]> {
    return this.#usageOf(pod, pod.spec?.volumes ?? [], signal)
  }

  /** Usage of persistent volumes. */
  claimUsage(pod: KubeletPod): Promise<readonly VolumeUsage[]> {
    return this.#usageOf(pod, (pod.spec?.volumes ?? []).filter(isClaim), undefined)
  }

  /** Usage of the volumes that count as the pod's ephemeral storage. */
  ephemeralUsage(pod: KubeletPod, signal?: AbortSignal): Promise<readonly VolumeUsage[]> {
    return this.#usageOf(pod, (pod.spec?.volumes ?? []).filter(isEphemeral), signal)
  }

  /** Volumes of all pods that are mounted, and those that these pods want, by plugin name. */
  count(pods: readonly KubeletPod[]): VolumeCounts {
    const mounted = [...this.#pods.values()].flatMap(({ volumes }) => [...volumes.values()])
    const wanted = pods.flatMap(pod => usedVolumes(pod).map(({ volume }) => this.#nameOf(pod, volume)))
    return {
      mountedVolumes: countEach(mounted.map(({ plugin }) => pluginName(plugin))),
      wantedVolumes: countEach(wanted),
    }
  }

  /** The plugin of a claim is known once its volume is mounted. */
  #nameOf({ metadata }: KubeletPod, volume: Volume): string {
    const known = this.#pods.get(metadata.uid)?.volumes.get(volume.name)?.plugin
    return pluginName(known ?? (isClaim(volume) ? undefined : pluginOfVolume(volume)))
  }

  async #usageOf(
    pod: KubeletPod,
    volumes: readonly Volume[],
    signal: AbortSignal | undefined,
  ): Promise<readonly VolumeUsage[]> {
    const { linux, platform, metrics } = this.#options
    const usages: VolumeUsage[] = []
    const beganMs = platform.clock.monotonicMs()
    for (const volume of volumes) {
      const { plugin, mounted } = this.#pods.get(pod.metadata.uid)?.volumes.get(volume.name) ?? {}
      if (!plugin?.usage || !mounted || mounted.isBlock) continue
      try {
        usages.push(await volumeUsage({ linux, pod, volume, mounted, usage: plugin.usage, signal }))
      } catch (error) {
        signal?.throwIfAborted()
        platform.log.debug('Failed to get volume metrics', { volume: volume.name, error })
      }
    }
    if (usages.length > 0)
      metrics.volumes.collectionDuration.with('du').observe((platform.clock.monotonicMs() - beganMs) / 1_000)
    return usages
  }

  async #mountEach(
    pod: KubeletPod,
    volumes: readonly UsedVolume[],
    signal: AbortSignal,
  ): Promise<readonly VolumeFailure[]> {
    const failures: VolumeFailure[] = []
    for (let first = 0; first < volumes.length; first += atOnceMax) {
      const some = volumes.slice(first, first + atOnceMax)
      const results = await Promise.all(some.map(used => this.#mountOne(pod, used, signal)))
      for (const failure of results) if (failure) failures.push(failure)
      signal.throwIfAborted()
    }
    return failures
  }

  async #mountOne(
    pod: KubeletPod,
    used: UsedVolume,
    signal: AbortSignal,
  ): Promise<VolumeFailure | undefined> {
    const { name } = used.volume
    const { volumes } = this.#stateOf(pod)
    const known = volumes.get(name)
    if (known && !known.plugin.isContent) return undefined
    let shownName = name
    let reconstruct: (() => Promise<MountedVolume | undefined>) | undefined
    try {
      const persistentVolume = await this.#persistentVolumeOf(pod, used, signal)
      shownName = persistentVolume?.metadata.name ?? name
      const plugin = persistentVolume
        ? pluginOfPersistentVolume(persistentVolume)
        : pluginOfVolume(used.volume)
      const request = await this.#requestFor(pod, used, { persistentVolume, signal })
      reconstruct = async () => {
        const mounted = await plugin.reconstruct?.(request)
        if (mounted) volumes.set(name, { mounted, plugin, persistentVolume })
        return mounted
      }
      if (persistentVolume) await this.#checkPersistentVolume(pod, persistentVolume, signal)
      const group = persistentVolume && groupOfVolume(persistentVolume)
      const mounted = {
        ...(await this.#setUp(plugin, request)),
        ...(group !== undefined && { supplementalGroup: group }),
      }
      volumes.set(name, { mounted, plugin, persistentVolume })
      return undefined
    } catch (error) {
      // Other volumes are still in progress; the abort is handled after they have finished.
      if (signal.aborted) return { volume: name, shownName, error }
      this.#options.platform.log.info('Failed to set up volume', {
        pod: pod.metadata.uid,
        volume: name,
        error,
      })
      if (!known) await reconstruct?.()
      return { volume: name, shownName, error }
    }
  }

  async #setUp(plugin: VolumePlugin, request: VolumeRequest): Promise<MountedVolume> {
    const { platform, metrics } = this.#options
    const beganMs = platform.clock.monotonicMs()
    let status = 'fail-unknown'
    try {
      const mounted = await plugin.setUp(request)
      status = 'success'
      return mounted
    } finally {
      metrics.volumes.operationDuration
        .with(pluginName(plugin), 'volume_mount', status, 'false')
        .observe((platform.clock.monotonicMs() - beganMs) / 1_000)
    }
  }

  async #persistentVolumeOf(
    pod: KubeletPod,
    { volume, isMounted, isDevice }: UsedVolume,
    signal: AbortSignal,
  ): Promise<Stored<PersistentVolume> | undefined> {
    const { objects } = this.#options
    return isClaim(volume) ? claimedVolume({ objects, pod, volume, isMounted, isDevice, signal }) : undefined
  }

  async #checkPersistentVolume(
    pod: KubeletPod,
    volume: Stored<PersistentVolume>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, node } = this.#options
    const { accessModes = [], nodeAffinity } = volume.spec ?? {}
    if (nodeAffinity?.required) {
      const self = await client.get(nodes, { name: node.name }, { signal })
      checkNodeAffinity(volume, self.metadata.labels ?? {})
    }
    if (
      accessModes.length === 1 &&
      accessModes[0] === 'ReadWriteOncePod' &&
      this.#isUsedByOther(pod, volume)
    ) {
      throw new Error('volume uses the ReadWriteOncePod access mode and is already in use by another pod')
    }
  }

  #isUsedByOther(pod: KubeletPod, { metadata }: Stored<PersistentVolume>): boolean {
    return [...this.#pods].some(([uid, { volumes }]) => {
      if (uid === pod.metadata.uid) return false
      return [...volumes.values()].some(each => each.persistentVolume?.metadata.name === metadata.name)
    })
  }

  async #requestFor(
    pod: KubeletPod,
    { volume }: UsedVolume,
    {
      persistentVolume,
      signal,
    }: Pick<VolumeRequest, 'signal'> & { persistentVolume: Stored<PersistentVolume> | undefined },
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

  #stateOf(pod: KubeletPod): PodState {
    const { uid } = pod.metadata
    const state = this.#pods.get(uid) ?? { volumes: new Map(), written: new Map() }
    this.#pods.set(uid, state)
    return state
  }

  /** Settings with the real path of the directory, as in the mount table. */
  async #node(): Promise<KubeletConfiguration> {
    const { node, linux } = this.#options
    // Mode 0750, so that other users of the machine cannot read pod data.
    this.#realFolder ??= linux.files
      .makeFolderUnsynced(podsFolder(node), 0o750)
      .then(() => linux.files.realPath(node.rootDirectory))
      .catch((error: unknown) => {
        this.#realFolder = undefined
        throw error
      })
    return { ...node, rootDirectory: await this.#realFolder }
  }
}

function countEach(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** A terminating container may mount something in the meantime. */
const triesMax = 3

/** Removes a pod's directory and all mounts in it, including leftovers of crashes. */
async function removePodFolder(linux: Linux, folder: string, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted()
    for (const path of mountsBelow(await linux.mounts.list(), folder)) await linux.mounts.unmount(path)
    try {
      await linux.files.removeTree(folder)
      return
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === 'EBUSY'
      if (!isBusy || tries >= triesMax) throw error
    }
  }
}

/** Mounts within the directory, innermost first. Pure. */
export function mountsBelow(mounts: readonly MountPoint[], folder: string): readonly string[] {
  const paths = mounts
    .map(({ path }) => path)
    .filter(path => path === folder || path.startsWith(`${folder}/`))
  return [...new Set(paths)].sort((left, right) => right.split('/').length - left.split('/').length)
}
