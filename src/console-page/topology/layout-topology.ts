/** Positions of the elements of a topology. Loaded with the layout library when a graph is first shown. */
import { Graph, layout } from '@dagrejs/dagre'
import { packBoxes } from './pack-boxes.ts'
import type { Topology } from './plan-topology.ts'

export const nodeWidth = 208
export const nodeHeight = 50
const gap = 28

export interface TopologyLayout {
  readonly width: number
  readonly height: number
  /** Of the upper left corner, by id. */
  readonly positions: ReadonlyMap<string, { readonly x: number; readonly y: number }>
}

/** Depends on the ids and edges only: a change of a state needs no new layout. */
export function layoutTopology(
  topology: Pick<Topology, 'nodes' | 'edges'>,
  widthMax: number,
): TopologyLayout {
  const parts = connectedParts(topology).map(layoutPart)
  const { places, width, height } = packBoxes(parts, { widthMax, gap })
  const positions = new Map<string, { x: number; y: number }>()
  parts.forEach((part, index) => {
    const { x = 0, y = 0 } = places[index] ?? {}
    for (const [id, at] of part.positions) positions.set(id, { x: x + at.x, y: y + at.y })
  })
  return { width, height, positions }
}

function layoutPart({ nodes, edges }: Pick<Topology, 'nodes' | 'edges'>): TopologyLayout {
  const graph = new Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: 12, ranksep: 44 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id } of nodes) graph.setNode(id, { width: nodeWidth, height: nodeHeight })
  for (const { from, to } of edges) graph.setEdge(from, to)
  layout(graph)
  const positions = new Map(
    nodes.map(({ id }) => {
      const { x = 0, y = 0 } = graph.node(id)
      return [id, { x: x - nodeWidth / 2, y: y - nodeHeight / 2 }]
    }),
  )
  const { width = nodeWidth, height = nodeHeight } = graph.graph()
  return { width, height, positions }
}

interface Part<N extends { readonly id: string }, E extends { readonly from: string; readonly to: string }> {
  readonly nodes: readonly N[]
  readonly edges: readonly E[]
}

/** Splits a graph into connected parts, those with edges first, each in the order of its first node. */
export function connectedParts<
  N extends { readonly id: string },
  E extends { readonly from: string; readonly to: string },
>({ nodes, edges }: Part<N, E>): readonly Part<N, E>[] {
  const parent = new Map(nodes.map(({ id }) => [id, id]))
  const rootOf = (id: string): string => {
    let root = id
    for (let next = parent.get(root); next !== undefined && next !== root; next = parent.get(root)) {
      // Halves the path, so that later searches are short.
      parent.set(root, parent.get(next) ?? next)
      root = next
    }
    return root
  }
  for (const { from, to } of edges) parent.set(rootOf(from), rootOf(to))
  const nodesOf = Map.groupBy(nodes, ({ id }) => rootOf(id))
  const edgesOf = Map.groupBy(edges, ({ from }) => rootOf(from))
  const parts = [...nodesOf].map(([root, members]) => ({ nodes: members, edges: edgesOf.get(root) ?? [] }))
  return [...parts.filter(part => part.edges.length > 0), ...parts.filter(part => part.edges.length === 0)]
}
