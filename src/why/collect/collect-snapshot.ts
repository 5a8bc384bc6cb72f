import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '#/api/generated/admissionregistration/v1-resources.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { HorizontalPodAutoscaler } from '#/api/generated/autoscaling/v2.ts'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import {
  events,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  resourceQuotas,
  services,
} from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { ingressClasses, networkPolicies } from '#/api/generated/networking/v1-resources.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { claimsOf } from '#/api/core/pod-volumes.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Client, ListOptions } from '#/client/client.ts'
import { discoverResources } from '#/client/discovery.ts'
import { findUnresolvedName } from '../diagnose/log-hints.ts'
import type { ClusterReader } from './cluster-reader.ts'
import { findResource } from '#/client/find-resource.ts'
import { relevantPods } from './relevant-pods.ts'
import { logKey, nothingRead, type Snapshot, type WebhookConfiguration } from './snapshot.ts'

/** Pods whose logs are read. */
const loggedPodsMax = 3
/** Services of other namespaces that webhooks refer to. */
const webhookServicesMax = 20
/** Kinds and objects of each that are searched for what keeps a namespace from being deleted. */
const remainingKindsMax = 200
const remainingObjectsMax = 20

interface Collection {
  readonly client: Client
  readonly reader: ClusterReader
  readonly target: Stored
  readonly namespace: string
  readonly nowMs: number
}

/** Reads what may explain the target, in few steps; each step depends on what the previous one found. */
export async function collectSnapshot(collection: Collection): Promise<Snapshot> {
  const inNamespace = await readNamespace(collection)
  const withTarget = { ...inNamespace, ...(await readScaleTarget(collection)) }
  const snapshot = { ...withTarget, logs: await readLogs(collection, withTarget) }
  const [more, remaining, elsewhere] = await Promise.all([
    readCluster(collection, snapshot),
    readRemaining(collection),
    readServicesElsewhere(collection, snapshot),
  ])
  return {
    ...snapshot,
    ...more,
    ...elsewhere,
    remaining,
  }
}

async function readNamespace({ reader, target, namespace, nowMs }: Collection): Promise<Snapshot> {
  const options = { namespace }
  const isNode = target.kind === 'Node'
  const isNamespaced = namespace !== '' && !isNode
  const [podList, eventList, ...lists] = await Promise.all([
    isNode
      ? reader.list(pods, { fieldSelector: `spec.nodeName=${target.metadata.name}` })
      : isNamespaced
        ? reader.list(pods, options)
        : [],
    reader.list(events, isNamespaced ? options : eventsOfClusterScoped(target)),
    isNamespaced ? reader.list(replicaSets, options) : [],
    isNamespaced ? reader.list(jobs, options) : [],
    isNamespaced ? reader.list(persistentVolumeClaims, options) : [],
    isNamespaced ? reader.list(resourceQuotas, options) : [],
    isNamespaced ? reader.list(services, options) : [],
    isNamespaced ? reader.list(endpointSlices, options) : [],
    isNamespaced ? reader.list(networkPolicies, options) : [],
  ])
  const [sets, jobList, claims, quotas, serviceList, slices, policies] = lists
  return {
    ...nothingRead,
    nowMs,
    target,
    namespace,
    pods: podList,
    events: eventList,
    replicaSets: sets,
    jobs: jobList,
    claims,
    quotas,
    services: serviceList,
    endpointSlices: slices,
    policies,
  }
}

/** Events of cluster-scoped objects are in the namespace `default`. */
function eventsOfClusterScoped({ kind = '', metadata }: Stored): {
  readonly namespace: string
  readonly fieldSelector: string
} {
  return {
    namespace: 'default',
    fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${metadata.name}`,
  }
}

async function readScaleTarget({
  client,
  reader,
  target,
  namespace,
}: Collection): Promise<Pick<Snapshot, 'scaleTarget'>> {
  if (target.kind !== 'HorizontalPodAutoscaler') return {}
  const { scaleTargetRef } = (target as Stored<HorizontalPodAutoscaler>).spec ?? {}
  if (scaleTargetRef === undefined) return {}
  const [group = ''] = scaleTargetRef.apiVersion?.includes('/') ? scaleTargetRef.apiVersion.split('/') : []
  const resource = await findResource(
    client,
    `${scaleTargetRef.kind}${group === '' ? '' : `.${group}`}`,
  ).catch(() => undefined)
  if (resource === undefined) return {}
  const found = await reader.find(resource, { namespace, name: scaleTargetRef.name })
  return found === undefined ? {} : { scaleTarget: found === 'missing' ? found : withKind(resource, found) }
}

/** Objects of lists and of other API servers may have no kind. */
export function withKind(resource: Resource, object: Stored): Stored {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }
}

/** Lists outside the namespace, only those that the objects in the namespace make relevant. */
async function readCluster({ reader, target }: Collection, snapshot: Snapshot): Promise<Partial<Snapshot>> {
  const { claims = [], policies = [] } = snapshot
  const relevant = relevantPods(snapshot)
  const isUnscheduled = relevant.some(({ spec }) => !spec?.nodeName)
  const needsNodes = relevant.length > 0 || target.kind === 'DaemonSet'
  const used = new Set(relevant.flatMap(claimsOf).map(({ name }) => name))
  if (target.kind === 'PersistentVolumeClaim') used.add(target.metadata.name)
  const needsVolumes = claims.some(({ metadata, status }) => {
    return used.has(metadata.name) && status?.phase !== 'Bound'
  })
  const needsWebhooks = refusals(snapshot).some(text => text.includes('webhook'))
  const needsNamespaces = policies.some(({ spec }) => {
    return spec?.ingress?.some(({ from = [] }) => from.some(each => each.namespaceSelector !== undefined))
  })
  const [nodeList, scheduledPods, volumes, classes, ingressClassList, validating, mutating, namespaceList] =
    await Promise.all([
      needsNodes ? reader.list(nodes) : undefined,
      isUnscheduled ? reader.list(pods, { fieldSelector: 'spec.nodeName!=', limit: 10_000 }) : undefined,
      needsVolumes ? reader.list(persistentVolumes) : undefined,
      needsVolumes ? reader.list(storageClasses) : undefined,
      target.kind === 'Ingress' ? reader.list(ingressClasses) : undefined,
      needsWebhooks ? reader.list(validatingWebhookConfigurations) : undefined,
      needsWebhooks ? reader.list(mutatingWebhookConfigurations) : undefined,
      needsNamespaces ? reader.list(namespaces) : undefined,
    ])
  const webhooks: readonly Stored<WebhookConfiguration>[] = [...(validating ?? []), ...(mutating ?? [])]
  return {
    nodes: nodeList,
    scheduledPods,
    volumes,
    storageClasses: classes,
    ingressClasses: ingressClassList,
    namespaces: namespaceList,
    webhookConfigurations: validating || mutating ? webhooks : undefined,
  }
}

/** Messages of events that say why an object could not be created. */
function refusals({ events: list = [] }: Snapshot): readonly string[] {
  return list.filter(({ type }) => type === 'Warning').map(({ message = '' }) => message)
}

/** The Services of webhooks that failed, and of the cluster's DNS if a log shows that a name was not resolved. */
async function readServicesElsewhere(
  { reader, namespace }: Collection,
  snapshot: Snapshot,
): Promise<Partial<Snapshot>> {
  const found = refusals(snapshot).flatMap(text => [
    ...text.matchAll(/https:\/\/(?<name>[a-z0-9-]+)\.(?<in>[a-z0-9-]+)\.svc[:/]/g),
  ])
  const references = new Map(
    found.map(({ groups: { name = '', in: inNamespace = '' } = {} }) => {
      return [`${inNamespace}/${name}`, { namespace: inNamespace, name }]
    }),
  )
  const elsewhere = [...references.values()]
    .filter(each => each.namespace !== namespace)
    .slice(0, webhookServicesMax)
  const needsDns = [...snapshot.logs.values()].some(lines => findUnresolvedName(lines) !== undefined)
  const selections: readonly ServiceSelection[] = [
    ...elsewhere.map(({ namespace: other, name }) => ({
      namespace: other,
      services: { fieldSelector: `metadata.name=${name}` },
      slices: { labelSelector: `kubernetes.io/service-name=${name}` },
    })),
    ...(needsDns && namespace !== 'kube-system' ? [dnsServices] : []),
  ]
  const lists = await Promise.all(
    selections.map(selection => {
      const inNamespace = { namespace: selection.namespace }
      return Promise.all([
        reader.list(services, { ...inNamespace, ...selection.services }),
        reader.list(endpointSlices, { ...inNamespace, ...selection.slices }),
      ])
    }),
  )
  return {
    services: snapshot.services && [...snapshot.services, ...lists.flatMap(([list]) => list ?? [])],
    endpointSlices: snapshot.endpointSlices && [
      ...snapshot.endpointSlices,
      ...lists.flatMap(([, list]) => list ?? []),
    ],
  }
}

interface ServiceSelection {
  readonly namespace: string
  readonly services: ListOptions
  readonly slices: ListOptions
}

const dnsServices: ServiceSelection = {
  namespace: 'kube-system',
  services: { labelSelector: 'k8s-app=kube-dns' },
  slices: {},
}

/** Of the worst pods: the log before the restart if a container runs again, its last log otherwise. */
async function readLogs({ reader }: Collection, snapshot: Snapshot): Promise<Snapshot['logs']> {
  if (snapshot.target.kind === 'Node') return new Map()
  const wanted = relevantPods(snapshot).slice(0, loggedPodsMax).flatMap(logSources)
  const read = await Promise.all(
    wanted.map(async source => [logKey(source.pod, source.container), await reader.log(source)] as const),
  )
  return new Map(read.flatMap(([key, lines]) => (lines === undefined ? [] : [[key, lines] as const])))
}

function logSources({ metadata, status }: Stored<Pod>): readonly Parameters<ClusterReader['log']>[0][] {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return containers
    .filter(({ state, lastState, ready }) => {
      if (state?.terminated) return state.terminated.exitCode !== 0
      return state?.running !== undefined || (lastState?.terminated !== undefined && !ready)
    })
    .map(({ name, state, lastState }) => ({
      namespace: metadata.namespace ?? '',
      pod: metadata.name,
      container: name,
      previous: state?.running !== undefined && lastState?.terminated !== undefined,
    }))
}

/** Objects with finalizers in a namespace that is being deleted, and others up to a bound. */
async function readRemaining({ client, reader, target }: Collection): Promise<readonly Stored[]> {
  if (target.kind !== 'Namespace' || !isBeingDeleted(target)) return []
  const resources = await discoverResources(client).catch(() => [])
  const listed = resources
    .filter(
      ({ scope, verbs }) => scope === 'Namespaced' && verbs.includes('list') && verbs.includes('delete'),
    )
    .filter(({ plural }) => plural !== 'events')
    .slice(0, remainingKindsMax)
  const lists = await Promise.all(
    listed.map(async resource => {
      const options = { namespace: target.metadata.name, metadataOnly: true, limit: remainingObjectsMax }
      const list = (await reader.list(resource, options)) ?? []
      return list.map(each => withKind(resource, each))
    }),
  )
  return lists.flat()
}
