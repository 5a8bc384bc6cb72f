import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'

/**
 * The newest version that is known of each object: the informer's, or one that was written here and that the informer
 * has not seen. Work on one claim changes volumes which work on others reads.
 */
export class Latest<T extends KubernetesObject> {
  readonly #informer: Informer<T>
  /** An entry goes when it is next asked for, as it is after every change: each puts its key into the queue. */
  readonly #written = new Map<string, T>()

  constructor(informer: Informer<T>) {
    this.#informer = informer
  }

  get(key: string): T | undefined {
    const written = this.#written.get(key)
    if (written === undefined) return this.#informer.get(key)
    if (!this.#informer.hasSeen(written.metadata?.resourceVersion ?? '')) return written
    this.#written.delete(key)
    return this.#informer.get(key)
  }

  async writing(write: Promise<T>): Promise<T> {
    const object = await write
    this.#written.set(keyOf(object), object)
    return object
  }
}
