import { parseEncodedObject } from '#/api/encoded-object.ts'
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Endpoints, Namespace, Node, Pod, ResourceQuota, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { isControlledBy, type Stored } from '#/api/metadata.ts'
import type { StoreEvent } from '#/store/store.ts'

interface KindsByPrefix {
  readonly pods: Pod
  readonly replicasets: ReplicaSet
  readonly deployments: Deployment
  readonly statefulsets: StatefulSet
  readonly daemonsets: DaemonSet
  readonly jobs: Job
  readonly namespaces: Namespace
  readonly minions: Node
  readonly resourcequotas: ResourceQuota
  readonly services: Service
  readonly endpoints: Endpoints
  readonly endpointslices: EndpointSlice
}

/** An object before and after a store event; `folder` determines the kind. */
export type Changed = { [Prefix in keyof KindsByPrefix]: ChangedIn<Prefix> }[keyof KindsByPrefix]

interface ChangedIn<Prefix extends keyof KindsByPrefix> {
  /** First path segment of the key below `/registry/`. */
  readonly resourcePrefix: Prefix
  readonly before: Stored<KindsByPrefix[Prefix]> | undefined
  readonly after: Stored<KindsByPrefix[Prefix]> | undefined
  readonly nowMs: number
}

/** The store's objects by key, built from its watch events. */
export class World {
  readonly #byPrefix = new Map<string, Map<string, Stored>>()
  readonly #byUid = new Map<string, Stored>()

  byUid(uid: string): Stored | undefined {
    return this.#byUid.get(uid)
  }

  all(): readonly Stored[] {
    return [...this.#byUid.values()]
  }

  /** Objects below `/registry/FOLDER/`. */
  of<Prefix extends keyof KindsByPrefix>(resourcePrefix: Prefix): readonly Stored<KindsByPrefix[Prefix]>[] {
    const objects = this.#byPrefix.get(resourcePrefix)?.values() ?? []
    // Stored bytes become typed here: the API server stores only objects of one kind below a prefix.
    return [...(objects as Iterable<unknown>)] as readonly Stored<KindsByPrefix[Prefix]>[]
  }

  podsOf(owner: Stored): readonly Stored<Pod>[] {
    return this.of('pods').filter(pod => isControlledBy(pod, owner))
  }

  /** Applies an event. Returns the object before and after. */
  apply(event: StoreEvent, nowMs: number): Changed {
    const { key } = event
    const resourcePrefix = resourcePrefixOf(key)
    const objects = this.#byPrefix.getOrInsertComputed(resourcePrefix, () => new Map<string, Stored>())
    const before = objects.get(key)
    if (before !== undefined) this.#byUid.delete(before.metadata.uid)
    const after = event.type === 'delete' ? undefined : parse(event.value, event.revision)
    if (after === undefined) objects.delete(key)
    else {
      objects.set(key, after)
      this.#byUid.set(after.metadata.uid, after)
    }
    // Only objects of the folder's kind are stored there; other folders are not used by checkers.
    return { resourcePrefix, before, after, nowMs } as Changed
  }
}

/** The stored value has no resourceVersion: it is the revision of the write. */
function parse(value: Uint8Array, revision: number): Stored {
  const object = parseEncodedObject(value) as unknown as Stored
  return { ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } }
}

/** Endpoints are stored below `/registry/services/`. */
export function resourcePrefixOf(key: string): string {
  const [resourcePrefix = '', next] = key.slice('/registry/'.length).split('/', 2)
  return resourcePrefix === 'services' && next === 'endpoints' ? next : resourcePrefix
}
