import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Endpoints, Namespace, Node, Pod, ResourceQuota, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { isControlledBy, type KubernetesObject } from '#/api/metadata.ts'
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
  readonly before: KindsByPrefix[Prefix] | undefined
  readonly after: KindsByPrefix[Prefix] | undefined
  readonly nowMs: number
}

/** The store's objects by key, built from its watch events. */
export class World {
  readonly #byPrefix = new Map<string, Map<string, KubernetesObject>>()
  readonly #byUid = new Map<string, KubernetesObject>()

  byUid(uid: string): KubernetesObject | undefined {
    return this.#byUid.get(uid)
  }

  all(): readonly KubernetesObject[] {
    return [...this.#byUid.values()]
  }

  /** Objects below `/registry/FOLDER/`. */
  of<Prefix extends keyof KindsByPrefix>(resourcePrefix: Prefix): readonly KindsByPrefix[Prefix][] {
    const objects = this.#byPrefix.get(resourcePrefix)?.values() ?? []
    // Stored bytes become typed here: the API server stores only objects of one kind below a prefix.
    return [...(objects as Iterable<unknown>)] as readonly KindsByPrefix[Prefix][]
  }

  podsOf(owner: KubernetesObject): readonly Pod[] {
    return this.of('pods').filter(pod => isControlledBy(pod, owner))
  }

  /** Applies an event. Returns the object before and after. */
  apply(event: StoreEvent, nowMs: number): Changed {
    const { key } = event
    const resourcePrefix = resourcePrefixOf(key)
    const objects = this.#byPrefix.get(resourcePrefix) ?? new Map<string, KubernetesObject>()
    this.#byPrefix.set(resourcePrefix, objects)
    const before = objects.get(key)
    this.#byUid.delete(before?.metadata.uid ?? '')
    const after = event.type === 'delete' ? undefined : parse(event.value)
    const uid = after?.metadata.uid
    if (after === undefined) objects.delete(key)
    else objects.set(key, after)
    if (after !== undefined && uid !== undefined) this.#byUid.set(uid, after)
    // Only objects of the folder's kind are stored there; other folders are not used by checkers.
    return { resourcePrefix, before, after, nowMs } as Changed
  }
}

function parse(value: Uint8Array): KubernetesObject {
  return JSON.parse(Buffer.from(value).toString()) as KubernetesObject
}

/** Endpoints are stored below `/registry/services/`. */
export function resourcePrefixOf(key: string): string {
  const [resourcePrefix = '', next] = key.slice('/registry/'.length).split('/', 2)
  return resourcePrefix === 'services' && next === 'endpoints' ? next : resourcePrefix
}

/** `namespace/name`, or `name` if cluster-scoped. */
export function nameOf({ metadata }: KubernetesObject): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : (metadata.name ?? '')
}
