import type { Image } from '#/cri/cri.ts'
import type { ImageGcSettings } from '../kubelet-configuration.ts'

export interface ImageSpace {
  readonly capacityBytes: number
  readonly availableBytes: number
}

/** Times of first detection and last use; 0 if never used. */
export interface ImageUse {
  readonly detectedMs: number
  readonly usedMs: number
}

export interface UnusedImagesInput {
  readonly images: readonly Image[]
  readonly uses: ReadonlyMap<string, ImageUse>
  /** Image ids. */
  readonly inUse: ReadonlySet<string>
  readonly settings: ImageGcSettings
  readonly nowMs: number
}

export interface ImageGcInput extends UnusedImagesInput {
  readonly space: ImageSpace
}

export interface ImageGcPlan {
  readonly usedPercent: number
  /** Bytes to free; 0 below the high threshold. */
  readonly neededBytes: number
  /** In order of removal, until enough is freed. */
  readonly candidates: readonly Image[]
}

/**
 * Above the high threshold, unused images are removed until usage reaches the low threshold, least recently
 * used first.
 */
export function planImageGc(input: ImageGcInput): ImageGcPlan {
  const { space, settings } = input
  const { highPercent, lowPercent } = settings
  const { capacityBytes } = space
  const availableBytes = Math.min(space.availableBytes, capacityBytes)
  const usedPercent = 100 - Math.floor((availableBytes * 100) / capacityBytes)
  if (usedPercent < highPercent) return { usedPercent, neededBytes: 0, candidates: [] }
  const neededBytes = Math.floor((capacityBytes * (100 - lowPercent)) / 100) - availableBytes
  return { usedPercent, neededBytes, candidates: unusedImages(input) }
}

/** Images that may be removed, least recently used first. */
export function unusedImages({ images, uses, inUse, settings, nowMs }: UnusedImagesInput): readonly Image[] {
  const useOf = ({ id }: Image): ImageUse => uses.get(id) ?? { detectedMs: nowMs, usedMs: 0 }
  return images
    .filter(image => !image.isPinned && !inUse.has(image.id))
    .filter(image => nowMs - useOf(image).detectedMs >= settings.minimumAgeMs)
    .sort((a, b) => useOf(a).usedMs - useOf(b).usedMs || useOf(a).detectedMs - useOf(b).detectedMs)
}
