import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { StatusText } from '../components/status-text.tsx'
import { hrefOf } from '../router/router.ts'
import { hrefOfNode } from './node-href.ts'
import { describePods, type NodeCard } from './plan-nodes.ts'
import type { Topology, TopologyNode } from './plan-topology.ts'

const rowsMax = 500
const problemsMax = 100

/** The picture of nodes in words. */
export function NodeList({ cards }: { readonly cards: readonly NodeCard[] }): JSX.Element {
  return (
    <TextList title="Nodes as a list">
      {() => (
        <>
          <ul class="plain-list">
            {cards.slice(0, rowsMax).map(({ name, status, tone, pods }) => (
              <li key={name}>
                {name === '' ? 'Not scheduled' : <a href={hrefOf(['nodes', '-', name])}>{name}</a>}{' '}
                {name === '' ? null : <StatusText tone={tone} text={status} />} {describePods(pods)}
              </li>
            ))}
          </ul>
          <Problems cards={cards} />
        </>
      )}
    </TextList>
  )
}

function Problems({ cards }: { readonly cards: readonly NodeCard[] }): JSX.Element | null {
  const pods = cards.flatMap(card => card.pods.filter(({ tone }) => tone === 'bad' || tone === 'warn'))
  if (pods.length === 0) return null
  return (
    <>
      <h3>Pods with problems</h3>
      <ul class="plain-list">
        {pods.slice(0, problemsMax).map(({ namespace, name, status, tone }) => (
          <li key={`${namespace}/${name}`}>
            <a href={hrefOf(['pods', namespace, name])}>
              {namespace}/{name}
            </a>{' '}
            <StatusText tone={tone} text={status} />
          </li>
        ))}
      </ul>
      {pods.length > problemsMax ? <p class="detail">and {pods.length - problemsMax} more</p> : null}
    </>
  )
}

const verbs = { owns: 'owns', selects: 'selects', routes: 'routes to', mounts: 'is mounted by' } as const

/** The graph in words: each object with what it leads to. */
export function GraphList({ topology }: { readonly topology: Topology }): JSX.Element {
  const { nodes, edges } = topology
  return (
    <TextList title="Objects as a list">
      {() => {
        const byId = new Map(nodes.map(node => [node.id, node]))
        const edgesFrom = Map.groupBy(edges, ({ from }) => from)
        return (
          <ul class="plain-list">
            {nodes.map(node => (
              <li key={node.id}>
                <NodeLink node={node} /> <StatusText tone={node.tone} text={node.state} />
                {(edgesFrom.get(node.id) ?? []).slice(0, rowsMax).map(({ to, type }) => {
                  const target = byId.get(to)
                  return target ? (
                    <span key={to} class="detail">
                      {' '}
                      {verbs[type]} <NodeLink node={target} />;
                    </span>
                  ) : null
                })}
              </li>
            ))}
          </ul>
        )
      }}
    </TextList>
  )
}

function NodeLink({ node }: { readonly node: TopologyNode }): JSX.Element {
  const { kind, name, count } = node
  return (
    <a href={hrefOfNode(node)}>
      {kind} {count === undefined ? name : `${count} of ${name}`}
    </a>
  )
}

interface TextListProps {
  readonly title: string
  readonly children: () => ComponentChildren
}

/** Rendered only while it is open: it would double the elements of a large cluster. */
function TextList({ title, children }: TextListProps): JSX.Element {
  const isOpen = useSignal(false)
  return (
    <details class="card text-list" onToggle={event => (isOpen.value = event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen.value ? children() : null}
    </details>
  )
}
