import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'

/**
 * An assume cache: objects of an informer overlaid with assumed versions, until the informer has a newer one.
 * Further decisions are based on the assumed versions.
 */
export class AssumeCache<T extends KubernetesObject> {
  readonly #informer: Informer<T>
  readonly #assumed = new Map<string, Stored<T>>()

  constructor(informer: Informer<T>) {
    this.#informer = informer
    informer.addEventHandler((key, { newObject }) => {
      const assumed = this.#assumed.get(key)
      if (assumed === undefined) return
      const isShown = newObject?.metadata.resourceVersion === assumed.metadata.resourceVersion
      if (newObject === undefined || isShown || this.#isOver(assumed, newObject)) this.#assumed.delete(key)
    })
  }

  get(key: string): Stored<T> | undefined {
    const known = this.#informer.get(key)
    const assumed = this.#assumed.get(key)
    return assumed === undefined || known === undefined || this.#isOver(assumed, known) ? known : assumed
  }

  /** The object is derived from the newest version, or is the result of a write. */
  assume(object: Stored<T>): void {
    this.#assumed.set(keyOf(object), object)
  }

  forget(object: Stored<T>): void {
    const key = keyOf(object)
    if (this.#assumed.get(key) === object) this.#assumed.delete(key)
  }

  #isOver(assumed: Stored<T>, known: Stored<T>): boolean {
    const version = assumed.metadata.resourceVersion
    return known.metadata.resourceVersion !== version && this.#informer.isCurrent(version)
  }
}
