import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { ObjectCache } from '../registry/watch-cache.ts'
import type { Subscriber } from '../registry/subscribers.ts'
import { prefixOf } from '../registry/store-keys.ts'
import { listCached } from './lookup.ts'

/** A value computed from all objects of a resource, cached until one of them changes. */
export class CachedDerivation<T extends KubernetesObject, V> implements Subscriber {
  readonly #cache: ObjectCache
  readonly #resource: Resource<T>
  readonly #derive: (objects: readonly Stored<T>[]) => V
  #value: { readonly made: V } | undefined

  constructor(cache: ObjectCache, resource: Resource<T>, derive: (objects: readonly Stored<T>[]) => V) {
    this.#cache = cache
    this.#resource = resource
    this.#derive = derive
    cache.subscribe(prefixOf(resource, ''), this)
  }

  get value(): V {
    this.#value ??= { made: this.#derive(listCached({ cache: this.#cache }, this.#resource)) }
    return this.#value.made
  }

  onEvents(): void {
    this.#value = undefined
  }

  onReset(): void {
    this.#value = undefined
  }
}
