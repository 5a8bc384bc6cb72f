import { keyOf, isBeingDeleted, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Informer } from '#/client/informer.ts'

type Followed = Pick<Informer<KubernetesObject>, 'get' | 'isCurrent' | 'waitUntil'>

/**
 * Read-your-writes barrier, which replaces upstream's expectations: the writes of a reconcile that the
 * informers may not show yet. A write is recorded as a condition on the informer's contents, so a relist
 * satisfies it as well as the watch event. There is no timeout: a disconnected informer shows the write after
 * it reconnects, and a reconcile before that would act on stale state.
 */
export class WriteBarrier {
  /** By resource and namespace; the namespace is empty for informers of all namespaces. */
  readonly #informers = new Map<string, Followed>()
  /** By work queue key. */
  readonly #invisible = new Map<string, InvisibleWrite[]>()

  /** An informer with a selector may never show a written object, and is not followed. */
  follow<T extends KubernetesObject>(resource: Resource<T>, informer: Informer<T>): void {
    const { namespace, ...selectors } = informer.selection
    if (Object.values(selectors).some(selector => selector !== undefined)) return
    this.#informers.set(informerKey(resource, namespace), informer)
  }

  /** Records a create or update that returned `object`. */
  recordWrite(key: string, resource: Resource, object: Stored): void {
    const { namespace, resourceVersion } = object.metadata
    this.#record(key, this.#informerOf(resource, namespace), informer => informer.isCurrent(resourceVersion))
  }

  /**
   * Records a deletion, which may still be waiting for finalizers or graceful termination. A new object may
   * already have the same name.
   */
  recordDelete(key: string, resource: Resource, object: NamedObject): void {
    const name = keyOf({ metadata: object })
    const followed = this.#informerOf(resource, object.namespace)
    const uid = object.uid ?? followed?.get(name)?.metadata.uid
    this.#record(key, followed, informer => {
      const left = informer.get(name)
      return left === undefined || left.metadata.uid !== uid || isBeingDeleted(left)
    })
  }

  /** Resolves when the informers show all writes for the key. Rejects when aborted first. */
  async waitUntilVisible(key: string, signal: AbortSignal): Promise<void> {
    const writes = this.#invisible.get(key)
    if (writes === undefined) return
    for (const { informer, isVisible } of writes) await informer.waitUntil(() => isVisible(informer), signal)
    this.#invisible.delete(key)
  }

  /** The informer of all namespaces, or else that of the object's namespace. */
  #informerOf(resource: Resource, namespace: string | undefined): Followed | undefined {
    return this.#informers.get(informerKey(resource)) ?? this.#informers.get(informerKey(resource, namespace))
  }

  #record(key: string, informer: Followed | undefined, isVisible: InvisibleWrite['isVisible']): void {
    if (informer === undefined || isVisible(informer)) return
    this.#invisible.getOrInsertComputed(key, () => []).push({ informer, isVisible })
  }
}

export interface NamedObject {
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
}

interface InvisibleWrite {
  readonly informer: Followed
  readonly isVisible: (informer: Followed) => boolean
}

function informerKey(resource: Resource, namespace = ''): string {
  return `${apiVersionOf(resource)}/${resource.plural}/${namespace}`
}
