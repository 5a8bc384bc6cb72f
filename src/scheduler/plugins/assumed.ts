import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'

/**
 * Objects as they will be when all is written that was decided: what the informer has, and what is assumed until it has
 * something newer. Others decide on that meanwhile.
 */
export class Assumed<T extends KubernetesObject> {
  readonly #informer: Informer<T>
  readonly #assumed = new Map<string, T>()

  constructor(informer: Informer<T>) {
    this.#informer = informer
    informer.onChange((key, { after }) => {
      const assumed = this.#assumed.get(key)
      if (assumed === undefined) return
      const isShown = after?.metadata?.resourceVersion === assumed.metadata?.resourceVersion
      if (after === undefined || isShown || this.#isOver(assumed, after)) this.#assumed.delete(key)
    })
  }

  get(key: string): T | undefined {
    const known = this.#informer.get(key)
    const assumed = this.#assumed.get(key)
    return assumed === undefined || known === undefined || this.#isOver(assumed, known) ? known : assumed
  }

  /** It was made of the newest version, or is what was written. */
  assume(object: T): void {
    this.#assumed.set(keyOf(object), object)
  }

  forget(object: T): void {
    const key = keyOf(object)
    if (this.#assumed.get(key) === object) this.#assumed.delete(key)
  }

  #isOver(assumed: T, known: T): boolean {
    const version = assumed.metadata?.resourceVersion ?? ''
    return known.metadata?.resourceVersion !== version && this.#informer.hasSeen(version)
  }
}
