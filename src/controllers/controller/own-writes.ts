import { keyOf, isBeingDeleted, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Informer } from '#/client/informer.ts'

/** What is asked of an informer here. */
type Followed = Pick<Informer<KubernetesObject>, 'get' | 'hasSeen' | 'until'>

/**
 * What was written while a key was worked on, and informers may not show yet. A write is remembered by what it made
 * true, so an informer that lists everything anew satisfies it as well as one that sees the event. There is nothing
 * to expire: an informer that is cut off learns of the write when it is back, and until then work on the key would
 * be work in the dark.
 */
export class OwnWrites {
  readonly #informers = new Map<string, Followed>()
  /** By the key that was worked on. */
  readonly #unseen = new Map<string, UnseenWrite[]>()

  follow<T extends KubernetesObject>(resource: Resource<T>, informer: Informer<T>): void {
    this.#informers.set(nameOf(resource), informer)
  }

  /** An object was created or changed, and this is what became of it. */
  written(key: string, resource: Resource, object: KubernetesObject): void {
    const version = object.metadata?.resourceVersion
    if (version !== undefined) this.#remember(key, resource, informer => informer.hasSeen(version))
  }

  /** An object is gone, or on its way. Another may have its name by now. */
  deleted(key: string, resource: Resource, object: NamedObject): void {
    const name = keyOf({ metadata: object })
    const uid = object.uid ?? this.#informers.get(nameOf(resource))?.get(name)?.metadata?.uid
    this.#remember(key, resource, informer => {
      const left = informer.get(name)
      return left === undefined || left.metadata?.uid !== uid || isBeingDeleted(left)
    })
  }

  /** Resolves when informers show everything that was written for the key. Rejects when aborted first. */
  async seen(key: string, signal: AbortSignal): Promise<void> {
    const writes = this.#unseen.get(key)
    if (writes === undefined) return
    for (const { informer, isSeen } of writes) await informer.until(() => isSeen(informer), signal)
    this.#unseen.delete(key)
  }

  #remember(key: string, resource: Resource, isSeen: UnseenWrite['isSeen']): void {
    const informer = this.#informers.get(nameOf(resource))
    if (informer === undefined || isSeen(informer)) return
    const writes = this.#unseen.get(key)
    if (writes === undefined) this.#unseen.set(key, [{ informer, isSeen }])
    else writes.push({ informer, isSeen })
  }
}

export interface NamedObject {
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
}

interface UnseenWrite {
  readonly informer: Followed
  readonly isSeen: (informer: Followed) => boolean
}

function nameOf(resource: Resource): string {
  return `${apiVersionOf(resource)}/${resource.plural}`
}
