import type { Tone } from '../format/tone.ts'
import type { TopologyEdge, TopologyNode } from './plan-topology.ts'

interface Graph {
  readonly nodes: readonly TopologyNode[]
  readonly edges: readonly TopologyEdge[]
}

/** Replaces the pods of each workload, and the ReplicaSets between, by one node with their number. */
export function groupPods({ nodes, edges }: Graph): Graph {
  const ownerOf = new Map(edges.filter(({ type }) => type === 'owns').map(({ from, to }) => [to, from]))
  const byId = new Map(nodes.map(node => [node.id, node]))
  const replacement = new Map<string, string>()
  const members = new Map<string, TopologyNode[]>()
  for (const node of nodes) {
    if (node.resource !== 'pods') continue
    const owner = byId.get(topOwner(node.id, ownerOf))
    if (owner === undefined || owner === node) continue
    const id = `group/${owner.id}`
    replacement.set(node.id, id)
    members.set(id, [...(members.get(id) ?? []), node])
  }
  const folded = new Set(
    nodes
      .filter(({ id, resource }) => resource === 'replicasets.apps' && ownerOf.has(id))
      .map(({ id }) => id),
  )
  for (const id of folded) replacement.set(id, topOwner(id, ownerOf))
  const groups = [...members].flatMap(([id, pods]) => {
    const owner = byId.get(id.slice('group/'.length))
    return owner === undefined ? [] : [groupNode(id, { owner, pods })]
  })
  const kept = nodes.filter(({ id }) => !replacement.has(id))
  return { nodes: [...kept, ...groups], edges: redirect(edges, replacement) }
}

/** Owner references of hostile objects may form a circle. */
const ownersMax = 5

function topOwner(id: string, ownerOf: ReadonlyMap<string, string>): string {
  let top = id
  for (let depth = 0; depth < ownersMax; depth++) {
    const owner = ownerOf.get(top)
    if (owner === undefined || owner.startsWith('cronjobs.')) break
    top = owner
  }
  return top
}

interface Group {
  readonly owner: TopologyNode
  readonly pods: readonly TopologyNode[]
}

const worstFirst: readonly Tone[] = ['bad', 'warn', 'busy', 'good', 'idle']

function groupNode(id: string, { owner, pods }: Group): TopologyNode {
  const states = [...Map.groupBy(pods, ({ state }) => state.replace(/ .*/, ''))]
  const text = states
    .toSorted(([, left], [, right]) => right.length - left.length)
    .slice(0, 3)
    .map(([state, { length }]) => `${length} ${state}`)
    .join(', ')
  const tone = worstFirst.find(each => pods.some(pod => pod.tone === each)) ?? 'good'
  const { namespace, name } = owner
  return { id, resource: 'pods', kind: 'Pods', namespace, name, tone, state: text, count: pods.length }
}

function redirect(
  edges: readonly TopologyEdge[],
  replacement: ReadonlyMap<string, string>,
): readonly TopologyEdge[] {
  const found = new Map<string, TopologyEdge>()
  for (const { from, to, type } of edges) {
    const edge = { from: replacement.get(from) ?? from, to: replacement.get(to) ?? to, type }
    if (edge.from !== edge.to) found.set(`${edge.from} ${edge.to}`, edge)
  }
  return [...found.values()]
}
