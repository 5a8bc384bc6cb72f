import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'

/**
 * The newest known version of each object: the informer's, or a newer one written by this controller. Needed
 * since reconciling one claim changes volumes that other reconciles read.
 */
export class AssumeCache<T extends KubernetesObject> {
  readonly #informer: Informer<T>
  /** Entries are dropped lazily on the next read, which every change triggers by enqueueing the key. */
  readonly #assumed = new Map<string, Stored<T>>()

  constructor(informer: Informer<T>) {
    this.#informer = informer
  }

  get(key: string): Stored<T> | undefined {
    const assumed = this.#assumed.get(key)
    if (assumed === undefined) return this.#informer.get(key)
    if (!this.#informer.isCurrent(assumed.metadata.resourceVersion)) return assumed
    this.#assumed.delete(key)
    return this.#informer.get(key)
  }

  async assume(write: Promise<Stored<T>>): Promise<Stored<T>> {
    const object = await write
    this.#assumed.set(keyOf(object), object)
    return object
  }
}
