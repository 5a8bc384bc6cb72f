import { join } from 'node:path'
import { keyOf } from '#/api/metadata.ts'
import { abortable } from '#/base/abort.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { parseManifest } from './parse-manifest.ts'

export interface StaticPodSourceOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly folder: string
  readonly nodeName: string
  readonly onChange: (uid: string) => void
}

/** Maximum size of a manifest. */
const bytesMax = 3 * 1024 * 1024
/** Maximum number of manifests; further files are ignored. */
const filesMax = 500
/** Retry delay after a failed watch. */
const retryMs = 10_000
/** Debounce: files are often written in several steps. */
const quietMs = 50

/** The pods in a static manifest directory. A file that is not a valid pod counts as unchanged. */
export class StaticPodSource {
  readonly #options: StaticPodSourceOptions
  /** By file path. */
  #pods = new Map<string, KubeletPod>()
  readonly #synced = Promise.withResolvers<void>()

  constructor(options: StaticPodSourceOptions) {
    this.#options = options
  }

  uids(): readonly string[] {
    return [...this.#pods.values()].map(uidOf)
  }

  byUid(uid: string): KubeletPod | undefined {
    return this.#find(pod => uidOf(pod) === uid)
  }

  byKey(key: string): KubeletPod | undefined {
    return this.#find(pod => keyOf(pod) === key)
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return abortable(this.#synced.promise, signal)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { platform, linux, folder } = this.#options
    while (!signal.aborted) {
      try {
        await platform.files.makeFolder(folder)
        // The watch starts before the directory is read, so that no change is missed.
        const changes = linux.files.watch(folder, signal)[Symbol.asyncIterator]()
        let next = changes.next()
        next.catch(() => undefined)
        await this.#read()
        while (!(await next).done && !signal.aborted) {
          await platform.clock.sleep(quietMs, signal)
          next = changes.next()
          next.catch(() => undefined)
          await this.#read()
        }
      } catch (error) {
        if (!signal.aborted) platform.log.warn('Unable to watch static pod path', { folder, error })
      }
      await platform.clock.sleep(retryMs, signal).catch(() => undefined)
    }
  }

  #find(fits: (pod: KubeletPod) => boolean): KubeletPod | undefined {
    for (const pod of this.#pods.values()) if (fits(pod)) return pod
    return undefined
  }

  async #read(): Promise<void> {
    const { platform, folder, onChange } = this.#options
    const names = (await platform.files.list(folder)).filter(name => !name.startsWith('.'))
    if (names.length > filesMax)
      platform.log.warn('Too many files in static pod path', { folder, files: names.length, filesMax })
    const pods = new Map<string, KubeletPod>()
    for (const name of names.slice(0, filesMax)) {
      const path = join(folder, name)
      const pod = await this.#readFile(path)
      const isDuplicate =
        pod && [...pods.values()].some(other => keyOf(other) === keyOf(pod) || uidOf(other) === uidOf(pod))
      if (isDuplicate) platform.log.warn('Duplicate static pod name', { path })
      else if (pod !== undefined) pods.set(path, pod)
    }
    const before = this.#pods
    this.#pods = pods
    this.#synced.resolve()
    const uids = new Set([...before.values(), ...pods.values()].map(uidOf))
    const old = new Set([...before.values()].map(uidOf))
    const now = new Set([...pods.values()].map(uidOf))
    for (const uid of uids) if (old.has(uid) !== now.has(uid)) onChange(uid)
  }

  async #readFile(path: string): Promise<KubeletPod | undefined> {
    const { platform, nodeName } = this.#options
    try {
      const status = await platform.files.stat(path)
      if (status === undefined || status.isFolder) return undefined
      if (!status.isFile) throw new Error('manifest is not a regular file')
      if (status.sizeBytes > bytesMax) throw new Error(`manifest exceeds ${bytesMax} bytes`)
      return parseManifest(await platform.files.read(path), { path, nodeName })
    } catch (error) {
      platform.log.warn('Could not process manifest file', { path, error })
      return this.#pods.get(path)
    }
  }
}

function uidOf({ metadata }: KubeletPod): string {
  return metadata.uid
}
