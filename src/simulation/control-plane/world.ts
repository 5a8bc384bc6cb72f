import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Endpoints, Namespace, Node, Pod, ResourceQuota, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { isControlledBy, type KubernetesObject } from '#/api/metadata.ts'
import type { StoreEvent } from '#/store/store.ts'

interface KindsByFolder {
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
export type Changed = { [Folder in keyof KindsByFolder]: ChangedIn<Folder> }[keyof KindsByFolder]

interface ChangedIn<Folder extends keyof KindsByFolder> {
  /** First path segment of the key below `/registry/`. */
  readonly folder: Folder
  readonly before: KindsByFolder[Folder] | undefined
  readonly after: KindsByFolder[Folder] | undefined
  readonly nowMs: number
}

/** The store's objects by key, built from its watch events. */
export class World {
  readonly #byFolder = new Map<string, Map<string, KubernetesObject>>()
  readonly #byUid = new Map<string, KubernetesObject>()

  byUid(uid: string): KubernetesObject | undefined {
    return this.#byUid.get(uid)
  }

  all(): readonly KubernetesObject[] {
    return [...this.#byUid.values()]
  }

  /** Objects below `/registry/FOLDER/`. */
  of<Folder extends keyof KindsByFolder>(folder: Folder): readonly KindsByFolder[Folder][] {
    const objects = this.#byFolder.get(folder)?.values() ?? []
    // Stored bytes become typed here: the API server stores only objects of one kind below a prefix.
    return [...(objects as Iterable<unknown>)] as readonly KindsByFolder[Folder][]
  }

  podsOf(owner: KubernetesObject): readonly Pod[] {
    return this.of('pods').filter(pod => isControlledBy(pod, owner))
  }

  /** Applies an event. Returns the object before and after. */
  apply(event: StoreEvent, nowMs: number): Changed {
    const { key } = event
    const folder = folderOf(key)
    const objects = this.#byFolder.get(folder) ?? new Map<string, KubernetesObject>()
    this.#byFolder.set(folder, objects)
    const before = objects.get(key)
    this.#byUid.delete(before?.metadata?.uid ?? '')
    const after = event.type === 'delete' ? undefined : parse(event.value)
    const uid = after?.metadata?.uid
    if (after === undefined) objects.delete(key)
    else objects.set(key, after)
    if (after !== undefined && uid !== undefined) this.#byUid.set(uid, after)
    // Only objects of the folder's kind are stored there; other folders are not used by checkers.
    return { folder, before, after, nowMs } as Changed
  }
}

function parse(value: Uint8Array): KubernetesObject {
  return JSON.parse(Buffer.from(value).toString()) as KubernetesObject
}

/** Endpoints are stored below `/registry/services/`. */
export function folderOf(key: string): string {
  const [folder = '', next] = key.slice('/registry/'.length).split('/', 2)
  return folder === 'services' && next === 'endpoints' ? next : folder
}

/** `namespace/name`, or `name` if cluster-scoped. */
export function nameOf({ metadata }: KubernetesObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : (metadata?.name ?? '')
}
