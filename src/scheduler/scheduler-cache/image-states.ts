import type { Node } from '#/api/generated/core/v1.ts'
import type { ImageState } from '../snapshot.ts'

type Images = NonNullable<Node['status']>['images']

/**
 * Number of nodes with each image. An update costs as much as the changed images, plus a copy of the map
 * after each snapshot (copy-on-write).
 */
export class ImageStates {
  #states = new Map<string, ImageState>()
  /** True if a snapshot holds the map, which must then not be modified. */
  #isShared = false

  /** Updates the images of a node; `before` is undefined for a new node, `after` for a removed one. */
  change(before: Images, after: Images): void {
    if (before === after) return
    if (this.#isShared) {
      this.#states = new Map(this.#states)
      this.#isShared = false
    }
    this.#count(after, 1)
    this.#count(before, -1)
  }

  share(): ReadonlyMap<string, ImageState> {
    this.#isShared = true
    return this.#states
  }

  #count(images: Images, more: 1 | -1): void {
    for (const { names = [], sizeBytes = 0 } of images ?? []) {
      for (const name of names) {
        const known = this.#states.get(name)
        const nodes = (known?.nodes ?? 0) + more
        if (nodes === 0) this.#states.delete(name)
        else this.#states.set(name, { sizeBytes: known?.sizeBytes ?? Number(sizeBytes), nodes })
      }
    }
  }
}
