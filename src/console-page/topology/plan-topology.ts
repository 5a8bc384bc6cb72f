/** Plans the graph of the objects of a namespace: ingress -> service -> pod <- workload, and claims -> pods. */
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Tone } from '../format/tone.ts'
import { groupPods } from './group-pods.ts'
import { itemsOf, objectState, recordOf } from './object-state.ts'

/** Objects by resource, as in `resourceId`. */
export type TopologyObjects = ReadonlyMap<string, Iterable<KubernetesObject>>

export interface Topology {
  readonly nodes: readonly TopologyNode[]
  readonly edges: readonly TopologyEdge[]
  /** True if pods are grouped by workload, because there are too many. */
  readonly isGrouped: boolean
  /** Objects that are left out, because there are too many. */
  readonly hidden: number
}

export interface TopologyNode {
  readonly id: string
  /** As in `resourceId`. */
  readonly resource: string
  readonly kind: string
  readonly namespace: string
  /** Of a group of pods, of their owner. */
  readonly name: string
  readonly tone: Tone
  readonly state: string
  /** Number of pods in a group. */
  readonly count?: number
}

export interface TopologyEdge {
  readonly from: string
  readonly to: string
  readonly type: 'owns' | 'selects' | 'routes' | 'mounts'
}

/** More are grouped, and then cut. */
const nodesMax = 300
const edgesMax = 3_000

/** In the order in which they are kept when there are too many. */
const topologyKinds: ReadonlyMap<string, string> = new Map([
  ['ingresses.networking.k8s.io', 'Ingress'],
  ['services', 'Service'],
  ['cronjobs.batch', 'CronJob'],
  ['deployments.apps', 'Deployment'],
  ['statefulsets.apps', 'StatefulSet'],
  ['daemonsets.apps', 'DaemonSet'],
  ['jobs.batch', 'Job'],
  ['replicasets.apps', 'ReplicaSet'],
  ['persistentvolumeclaims', 'PersistentVolumeClaim'],
  ['pods', 'Pod'],
])

export function planTopology(objects: TopologyObjects): Topology {
  const all = collect(objects)
  const index = indexOf(all)
  const edges: TopologyEdge[] = []
  for (const each of all) {
    addOwner(each, index, edges)
    if (each.node.resource === 'services') addSelected(each, index, edges)
    if (each.node.resource === 'ingresses.networking.k8s.io') addBackends(each, index, edges)
    if (each.node.resource === 'pods') addClaims(each, index, edges)
  }
  const owners = new Set(edges.filter(({ type }) => type === 'owns').map(({ from }) => from))
  const nodes = withPodsOfServices(all, edges).filter(node => !isOldReplicaSet(node, owners))
  const whole = { nodes, edges: withBothEnds(edges, nodes), isGrouped: false, hidden: 0 }
  if (nodes.length <= nodesMax) return bounded(whole)
  return bounded({ ...groupPods(whole), isGrouped: true, hidden: 0 })
}

interface Entry {
  readonly node: TopologyNode
  readonly object: KubernetesObject
}

function collect(objects: TopologyObjects): readonly Entry[] {
  return [...topologyKinds].flatMap(([resource, kind]) =>
    [...(objects.get(resource) ?? [])].map(object => {
      const { namespace = '', name = '' } = object.metadata
      const { tone, text } = objectState(resource, object)
      const id = idOf(resource, { namespace, name })
      return { object, node: { id, resource, kind, namespace, name, tone, state: text } }
    }),
  )
}

interface Index {
  readonly byId: ReadonlyMap<string, Entry>
  readonly byUid: ReadonlyMap<string, Entry>
  /** Pods by namespace and one of their labels. */
  readonly podsByLabel: ReadonlyMap<string, readonly Entry[]>
}

function indexOf(entries: readonly Entry[]): Index {
  const podsByLabel = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (entry.node.resource !== 'pods') continue
    for (const [name, value] of Object.entries(entry.object.metadata.labels ?? {})) {
      const key = labelKey(entry.node.namespace, name, value)
      const found = podsByLabel.get(key)
      if (found) found.push(entry)
      else podsByLabel.set(key, [entry])
    }
  }
  return {
    byId: new Map(entries.map(entry => [entry.node.id, entry])),
    byUid: new Map(entries.map(entry => [entry.object.metadata.uid ?? '', entry])),
    podsByLabel,
  }
}

function labelKey(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}

function idOf(resource: string, key: { readonly namespace: string; readonly name: string }): string {
  return `${resource}/${key.namespace}/${key.name}`
}

function addOwner({ object, node }: Entry, { byUid }: Index, edges: TopologyEdge[]): void {
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true)
  const from = byUid.get(owner?.uid ?? '')
  if (owner !== undefined && from !== undefined && from.object !== object) {
    edges.push({ from: from.node.id, to: node.id, type: 'owns' })
  }
}

function addSelected({ object, node }: Entry, { podsByLabel }: Index, edges: TopologyEdge[]): void {
  const selector = Object.entries(recordOf(specOf(object)['selector']))
  const [first] = selector
  // A service without a selector selects nothing.
  if (first === undefined) return
  const candidates = podsByLabel.get(labelKey(node.namespace, first[0], String(first[1]))) ?? []
  for (const pod of candidates) {
    const labels = pod.object.metadata.labels ?? {}
    if (!selector.every(([name, value]) => labels[name] === value)) continue
    edges.push({ from: node.id, to: pod.node.id, type: 'selects' })
  }
}

function addBackends({ object, node }: Entry, { byId }: Index, edges: TopologyEdge[]): void {
  const spec = specOf(object)
  const paths = itemsOf(spec['rules']).flatMap(rule => itemsOf(recordOf(rule['http'])['paths']))
  const backends = [spec['defaultBackend'], ...paths.map(({ backend }) => backend)]
  const names = new Set(backends.map(backend => recordOf(recordOf(backend)['service'])['name']))
  for (const name of names) {
    const service = byId.get(idOf('services', { namespace: node.namespace, name: String(name) }))
    if (service) edges.push({ from: node.id, to: service.node.id, type: 'routes' })
  }
}

function addClaims({ object, node }: Entry, { byId }: Index, edges: TopologyEdge[]): void {
  const names = itemsOf(specOf(object)['volumes']).map(volume => {
    const { claimName } = recordOf(volume['persistentVolumeClaim'])
    // The claim of an ephemeral volume is named after the pod and the volume.
    return volume['ephemeral'] ? `${node.name}-${String(volume['name'])}` : claimName
  })
  for (const name of new Set(names)) {
    const id = idOf('persistentvolumeclaims', { namespace: node.namespace, name: String(name) })
    if (byId.has(id)) edges.push({ from: id, to: node.id, type: 'mounts' })
  }
}

/** A service is as good as the pods that it selects. */
function withPodsOfServices(all: readonly Entry[], edges: readonly TopologyEdge[]): readonly TopologyNode[] {
  const podsOf = Map.groupBy(
    edges.filter(({ type }) => type === 'selects'),
    ({ from }) => from,
  )
  const toneOf = new Map(all.map(({ node }) => [node.id, node.tone]))
  return all.map(({ node, object }) => {
    const hasSelector = Object.keys(recordOf(specOf(object)['selector'])).length > 0
    if (node.resource !== 'services' || !hasSelector) return node
    const pods = podsOf.get(node.id) ?? []
    const ready = pods.filter(({ to }) => toneOf.get(to) === 'good').length
    const tone = ready === 0 ? 'warn' : 'good'
    return { ...node, tone, state: pods.length === 0 ? 'no pods' : `${ready}/${pods.length} pods ready` }
  })
}

/** Deployments keep their old ReplicaSets without pods. */
function isOldReplicaSet({ id, resource, tone }: TopologyNode, owners: ReadonlySet<string>): boolean {
  return resource === 'replicasets.apps' && tone === 'idle' && !owners.has(id)
}

function withBothEnds(
  edges: readonly TopologyEdge[],
  nodes: readonly TopologyNode[],
): readonly TopologyEdge[] {
  const ids = new Set(nodes.map(({ id }) => id))
  return edges.filter(({ from, to }) => ids.has(from) && ids.has(to))
}

function bounded(topology: Topology): Topology {
  const { nodes, edges } = topology
  // Problems are kept, then what comes first in the chain of a request.
  const kept = nodes.toSorted((left, right) => Number(right.tone === 'bad') - Number(left.tone === 'bad'))
  const shown = nodes.length <= nodesMax ? nodes : kept.slice(0, nodesMax)
  return {
    ...topology,
    nodes: shown,
    edges: withBothEnds(edges, shown).slice(0, edgesMax),
    hidden: nodes.length - shown.length,
  }
}

function specOf(object: KubernetesObject): Readonly<Record<string, unknown>> {
  return recordOf((object as { readonly spec?: unknown }).spec)
}
