import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '#/api/generated/admissionregistration/v1.ts'
import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type {
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  Service,
} from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { IngressClass, NetworkPolicy } from '#/api/generated/networking/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import { isControlledBy, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'

/** Everything that is read for a diagnosis. A list that could not be read is undefined. */
export interface Snapshot {
  readonly nowMs: number
  readonly target: Stored
  /** Of the target; empty if it has none. */
  readonly namespace: string
  /** Pods of the namespace. */
  readonly pods: Listed<Pod>
  /** Scheduled pods of all namespaces, read only for pods that are not scheduled. */
  readonly scheduledPods: Listed<Pod>
  readonly replicaSets: Listed<ReplicaSet>
  readonly jobs: Listed<Job>
  readonly claims: Listed<PersistentVolumeClaim>
  readonly quotas: Listed<ResourceQuota>
  /** Of the namespace, and those that webhooks and DNS of the cluster refer to. */
  readonly services: Listed<Service>
  readonly endpointSlices: Listed<EndpointSlice>
  readonly policies: Listed<NetworkPolicy>
  readonly events: Listed<Event>
  readonly nodes: Listed<Node>
  readonly namespaces: Listed<Namespace>
  readonly volumes: Listed<PersistentVolume>
  readonly storageClasses: Listed<StorageClass>
  readonly ingressClasses: Listed<IngressClass>
  readonly webhookConfigurations: Listed<WebhookConfiguration>
  /** What an autoscaler scales; `missing` if it does not exist. */
  readonly scaleTarget?: Stored | 'missing'
  /** Objects that a namespace being deleted still has. */
  readonly remaining: readonly Stored[]
  /** The last lines by pod and container, as in `logKey`. */
  readonly logs: ReadonlyMap<string, readonly string[]>
}

/** The lists of a snapshot before anything is read. */
export const nothingRead = {
  pods: undefined,
  scheduledPods: undefined,
  replicaSets: undefined,
  jobs: undefined,
  claims: undefined,
  quotas: undefined,
  services: undefined,
  endpointSlices: undefined,
  policies: undefined,
  events: undefined,
  nodes: undefined,
  namespaces: undefined,
  volumes: undefined,
  storageClasses: undefined,
  ingressClasses: undefined,
  webhookConfigurations: undefined,
  remaining: [],
  logs: new Map<string, readonly string[]>(),
}

export type Listed<T extends KubernetesObject> = readonly Stored<T>[] | undefined

export type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration

export function logKey(pod: string, container: string): string {
  return `${pod}/${container}`
}

/** Events about the object, the newest first. */
export function eventsOf(
  snapshot: Pick<Snapshot, 'events'>,
  object: KubernetesObject,
): readonly Stored<Event>[] {
  const { uid, name } = object.metadata
  return (snapshot.events ?? [])
    .filter(({ involvedObject }) => {
      if (involvedObject.kind !== object.kind || involvedObject.name !== name) return false
      // Events of nodes have the node's name as uid.
      return !involvedObject.uid || involvedObject.uid === uid || involvedObject.uid === name
    })
    .toSorted((left, right) => timeOf(right) - timeOf(left))
}

/** The newest event about the object that has one of the reasons. */
export function eventWith(
  snapshot: Pick<Snapshot, 'events'>,
  object: KubernetesObject,
  reasons: readonly string[],
): Stored<Event> | undefined {
  return eventsOf(snapshot, object).find(({ reason = '' }) => reasons.includes(reason))
}

export function timeOf({ series, lastTimestamp, eventTime, metadata }: Event): number {
  const text = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? ''
  return parseTime(text) ?? 0
}

/** Pods that the object controls, also through ReplicaSets and Jobs. */
export function podsOf(snapshot: Snapshot, owner: KubernetesObject): readonly Stored<Pod>[] {
  const { pods = [], replicaSets = [], jobs = [] } = snapshot
  const between = [...replicaSets, ...jobs].filter(each => isControlledBy(each, owner))
  return pods.filter(pod => [owner, ...between].some(each => isControlledBy(pod, each)))
}
