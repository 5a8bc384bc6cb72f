import type { Node } from '#/api/generated/core/v1.ts'
import type { ImageState } from '../snapshot.ts'

type Images = NonNullable<Node['status']>['images']

/** On how many nodes each image is. It costs what has changed, and a copy of the names for each snapshot after that. */
export class ImageStates {
  #states = new Map<string, ImageState>()
  /** Somebody holds the map: it must not change any more. */
  #isShared = false

  /** A node has other images than before; none before it came, and none after it went. */
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
