import { memo } from 'preact/compat'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { layoutTopology, nodeHeight, nodeWidth, type TopologyLayout } from './layout-topology.ts'
import { hrefOfNode } from './node-href.ts'
import type { Topology, TopologyEdge, TopologyNode } from './plan-topology.ts'
import { useRovingFocus } from './roving-focus.ts'

const widthDefault = 1_100
/** Between two layouts. A change of states only needs none. */
const layoutPauseMs = 400

/** Objects with lines between them. */
export function ObjectGraph({ topology }: { readonly topology: Topology }): JSX.Element {
  const area = useRef<HTMLDivElement>(null)
  const layout = useLayout(topology, area)
  const placed = topology.nodes.filter(({ id }) => layout.positions.has(id))
  const container = useRef<HTMLDivElement>(null)
  const focus = useRovingFocus(container, placed[0]?.id)
  return (
    <div class="object-graph" ref={area}>
      <div
        ref={container}
        class="object-graph-canvas"
        role="group"
        aria-label="Objects and how they belong together; arrow keys move between objects"
        style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
        onKeyDown={focus.onKeyDown}
        onFocusIn={focus.onFocusIn}
      >
        <Edges edges={topology.edges} layout={layout} />
        {placed.map(node => (
          <GraphNode
            key={node.id}
            node={node}
            x={layout.positions.get(node.id)?.x ?? 0}
            y={layout.positions.get(node.id)?.y ?? 0}
            tabIndex={focus.tabIndexOf(node.id)}
          />
        ))}
      </div>
    </div>
  )
}

const noLayout: TopologyLayout = { width: 0, height: 0, positions: new Map() }

/** A new layout when objects or edges were added or removed, but not more often than a user can follow. */
function useLayout(topology: Topology, area: { readonly current: HTMLDivElement | null }): TopologyLayout {
  const [layout, setLayout] = useState(noLayout)
  const lastMs = useRef(-Infinity)
  const latest = useRef(topology)
  latest.current = topology
  const structure = structureOf(topology)
  const width = useWidth(area)
  useEffect(() => {
    const pauseMs = Math.max(0, lastMs.current + layoutPauseMs - performance.now())
    const timer = setTimeout(() => {
      setLayout(layoutTopology(latest.current, width))
      lastMs.current = performance.now()
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [structure, width])
  return layout
}

function structureOf({ nodes, edges }: Topology): string {
  return `${nodes.map(({ id }) => id).join(' ')}|${edges.map(({ from, to }) => `${from} ${to}`).join(',')}`
}

function useWidth(area: { readonly current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(widthDefault)
  useEffect(() => {
    const measure = (): void => setWidth(Math.max(nodeWidth, area.current?.clientWidth ?? widthDefault))
    const observer = new ResizeObserver(measure)
    if (area.current) observer.observe(area.current)
    return () => observer.disconnect()
  }, [])
  return width
}

interface EdgesProps {
  readonly edges: readonly TopologyEdge[]
  readonly layout: TopologyLayout
}

const Edges = memo(
  ({ edges, layout }: EdgesProps): JSX.Element => (
    <svg class="object-graph-edges" width={layout.width} height={layout.height} aria-hidden="true">
      {edges.map(({ from, to, type }) => {
        const [start, end] = [layout.positions.get(from), layout.positions.get(to)]
        if (start === undefined || end === undefined) return null
        const [x, y] = [start.x + nodeWidth, start.y + nodeHeight / 2]
        const [toX, toY] = [end.x, end.y + nodeHeight / 2]
        const bend = Math.max(16, (toX - x) / 2)
        const d = `M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`
        return <path key={`${from} ${to} ${type}`} class={`is-${type}`} d={d} />
      })}
    </svg>
  ),
  // Edges without a layout are not drawn, and those of the next layout come with it.
  (before, after) => before.layout === after.layout,
)

interface GraphNodeProps {
  readonly node: TopologyNode
  readonly x: number
  readonly y: number
  readonly tabIndex: number
}

const GraphNode = memo(
  ({ node, x, y, tabIndex }: GraphNodeProps): JSX.Element => {
    const { id, resource, kind, name, tone, state, count } = node
    const title = count === undefined ? name : `${count} of ${name}`
    return (
      <a
        class={`graph-node tone-${tone}${count === undefined ? '' : ' is-group'}`}
        data-id={id}
        href={hrefOfNode(node)}
        tabIndex={tabIndex}
        title={`${kind} ${title}\n${state}`}
        style={{ transform: `translate(${x}px, ${y}px)`, width: `${nodeWidth}px`, height: `${nodeHeight}px` }}
      >
        <span class="graph-node-kind">
          <span class="status-mark" aria-hidden="true" />
          {kind === 'PersistentVolumeClaim' ? 'PVC' : kind}
        </span>
        <span class="graph-node-name">{title}</span>
        <span class={`graph-node-state${resource === 'ingresses.networking.k8s.io' ? '' : ' status'}`}>
          {state}
        </span>
      </a>
    )
  },
  (before, after) =>
    before.x === after.x &&
    before.y === after.y &&
    before.tabIndex === after.tabIndex &&
    before.node.state === after.node.state &&
    before.node.tone === after.node.tone &&
    before.node.count === after.node.count &&
    before.node.id === after.node.id,
)
