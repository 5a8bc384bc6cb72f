import { formatTime } from '#/api/text/time.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { ContainerRuntime, Image } from '#/cri/cri.ts'
import { normalizeImage } from '#/cri/image-reference.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { KubeletMetrics } from '../kubelet-metrics.ts'
import {
  planImageGc,
  unusedImages,
  type ImageSpace,
  type ImageUse,
  type UnusedImagesInput,
} from './plan-image-gc.ts'
import type { PullRecords } from './pull-records.ts'

export interface ImageGcOptions {
  readonly platform: Platform
  readonly runtime: ContainerRuntime
  readonly node: Pick<KubeletConfiguration, 'imageGc'>
  readonly pinnedImages: readonly string[]
  readonly records: PullRecords
  readonly metrics: KubeletMetrics
}

interface FoundImages extends UnusedImagesInput {
  /** With pinned images. */
  readonly all: readonly Image[]
  readonly containers: readonly { readonly id: string }[]
}

interface ImageRemoval extends FoundImages {
  readonly candidates: readonly Image[]
  readonly neededBytes: number
}

/** Tracks image use and removes the least recently used images when disk usage is high. */
export class ImageGc {
  readonly #options: ImageGcOptions
  readonly #kept: ReadonlySet<string>
  #uses = new Map<string, ImageUse>()

  constructor(options: ImageGcOptions) {
    this.#options = options
    this.#kept = new Set(options.pinnedImages.map(normalizeImage))
  }

  /** Resolves with an event for the node, if any. Throws after trying all candidates if a removal failed. */
  async collect(space: ImageSpace, signal?: AbortSignal): Promise<EventContent | undefined> {
    if (space.capacityBytes <= 0) return noCapacity
    const found = await this.#findImages(signal)
    const { neededBytes, usedPercent, candidates } = planImageGc({ ...found, space })
    if (neededBytes <= 0) return undefined
    const freedBytes = await this.#remove({ ...found, candidates, neededBytes }, signal)
    return freedBytes < neededBytes ? insufficient(space, usedPercent, freedBytes) : undefined
  }

  /** Removes all images that may be removed. Throws after trying all of them if a removal failed. */
  async deleteUnused(signal?: AbortSignal): Promise<void> {
    const found = await this.#findImages(signal)
    await this.#remove({ ...found, candidates: unusedImages(found), neededBytes: Infinity }, signal)
  }

  async #findImages(signal: AbortSignal | undefined): Promise<FoundImages> {
    const { platform, runtime, node } = this.#options
    const nowMs = platform.clock.now()
    const all = await runtime.listImages({ signal })
    const images = all.filter(({ tags }) => !tags.some(tag => this.#kept.has(tag)))
    const containers = await runtime.listContainers({}, { signal })
    const inUse = new Set(containers.map(({ image }) => image))
    this.#remember(images, inUse, nowMs)
    return { all, images, containers, uses: this.#uses, inUse, settings: node.imageGc, nowMs }
  }

  /** Resolves with the freed bytes. */
  async #remove(
    { all, containers, nowMs, candidates, neededBytes }: ImageRemoval,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const { platform, runtime, metrics } = this.#options
    // Mounted images require a status call per container, so they are fetched only if there are candidates.
    const mounted =
      candidates.length === 0 ? new Set<string>() : await this.#mountedImages(containers, signal)
    const removed = new Set<string>()
    const errors: unknown[] = []
    let freedBytes = 0
    for (const { id, sizeBytes } of candidates) {
      if (freedBytes >= neededBytes) break
      if (mounted.has(id)) continue
      try {
        await runtime.removeImage(id, { signal })
        freedBytes += sizeBytes
        removed.add(id)
        metrics.images.garbageCollected.with('space').add()
        platform.log.info('Removed image to free bytes', { image: id, sizeBytes })
      } catch (error) {
        signal?.throwIfAborted()
        errors.push(error)
      }
    }
    const left = all.filter(({ id }) => !removed.has(id)).map(({ id }) => id)
    await this.#options.records.keepOnly(left, formatTime(nowMs))
    if (errors.length > 0) throw new AggregateError(errors, 'some unused images could not be removed')
    return freedBytes
  }

  #remember(images: readonly Image[], inUse: ReadonlySet<string>, nowMs: number): void {
    this.#uses = new Map(
      images.map(({ id }) => {
        const { detectedMs = nowMs, usedMs = 0 } = this.#uses.get(id) ?? {}
        return [id, { detectedMs, usedMs: inUse.has(id) ? nowMs : usedMs }]
      }),
    )
  }

  async #mountedImages(
    containers: readonly { readonly id: string }[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    for (const { id } of containers) {
      const status = await this.#options.runtime.containerStatus(id, { signal }).catch(() => undefined)
      signal?.throwIfAborted()
      for (const { image } of status?.mounts ?? []) if (image !== undefined) found.add(image.id)
    }
    return found
  }
}

const noCapacity: EventContent = {
  type: 'Warning',
  reason: 'InvalidDiskCapacity',
  message: 'invalid capacity 0 on image filesystem',
}

function insufficient({ capacityBytes }: ImageSpace, usedPercent: number, freedBytes: number): EventContent {
  const message =
    "Insufficient free disk space on the node's image filesystem " +
    `(${usedPercent}% of ${formatSize(capacityBytes)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). ` +
    'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.'
  return { type: 'Warning', reason: 'FreeDiskSpaceFailed', message }
}

function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const fitting = units.findIndex((_, step) => bytes < 1_024 ** (step + 1))
  const step = fitting < 0 ? units.length - 1 : fitting
  return `${step === 0 ? bytes : (bytes / 1_024 ** step).toFixed(1)} ${units[step]}`
}
