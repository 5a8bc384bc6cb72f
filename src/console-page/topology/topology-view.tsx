import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import { Lazy } from '../components/lazy.tsx'
import { ListState } from '../components/list-state.tsx'
import { StatusText } from '../components/status-text.tsx'
import { findResource, listPath } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import type { ListQuery, WatchSnapshot } from '../data/watched-list.ts'
import { PastBanner } from '../history/past-banner.tsx'
import { RewindBar, spanDefault, spans } from '../history/rewind-bar.tsx'
import { useChanges } from '../history/use-changes.ts'
import { useObjectsAt, useTableAt } from '../history/use-list-at.ts'
import { useKeys } from '../keyboard/key-bindings.ts'
import { namespace, replaceQuery, route } from '../router/router.ts'
import { GraphList, NodeList } from './text-lists.tsx'
import { NodeGrid } from './node-grid.tsx'
import { describePods, planNodes } from './plan-nodes.ts'
import { planTopology } from './plan-topology.ts'

type Mode = 'nodes' | 'objects'

/** The cluster as it is, or as it was: nodes with their pods, or the objects of a namespace with their relations. */
export function TopologyView(): JSX.Element {
  const { show, at: wanted, rewind, span = spanDefault } = route.value.query
  // All objects of a cluster are too many for a picture, but its nodes are not.
  const mode: Mode =
    show === 'nodes' || show === 'objects' ? show : namespace.value === '' ? 'nodes' : 'objects'
  const isRewound = rewind === 'true' || wanted !== undefined
  const { spanMs = 0 } = spans.get(span) ?? {}
  const changes = useChanges(isRewound ? { namespace: namespace.value, spanMs } : undefined)
  // Servers without history ignore the moment of a list: the current state must not be shown as that of the past.
  const at = changes.phase === 'live' ? wanted : undefined
  const toggleMode = (): void => replaceQuery({ show: mode === 'nodes' ? 'objects' : 'nodes' })
  const toggleRewind = (): void =>
    replaceQuery(isRewound ? { rewind: undefined, at: undefined } : { rewind: 'true' })
  useKeys([
    { keys: 'v', title: 'Nodes or objects', run: toggleMode },
    { keys: 'r', title: 'Rewind, or return to now', run: toggleRewind },
  ])
  useEffect(() => {
    document.title = 'Topology - k8ts'
  }, [])
  return (
    <div class="topology">
      <header class="view-header">
        <h1>Topology</h1>
        <div class="segments" role="group" aria-label="What to show">
          <button
            type="button"
            class="button"
            aria-pressed={mode === 'nodes'}
            onClick={() => replaceQuery({ show: 'nodes' })}
          >
            Nodes
          </button>
          <button
            type="button"
            class="button"
            aria-pressed={mode === 'objects'}
            onClick={() => replaceQuery({ show: 'objects' })}
          >
            Objects
          </button>
        </div>
        <span class="view-header-space" />
        <button type="button" class="button" aria-pressed={isRewound} onClick={toggleRewind}>
          Rewind
        </button>
      </header>
      {isRewound ? <RewindBar changes={changes} at={at} /> : null}
      {at === undefined ? null : <PastBanner at={at} />}
      {mode === 'nodes' ? <Nodes at={at} /> : <Objects at={at} />}
    </div>
  )
}

interface AtProps {
  readonly at: string | undefined
}

const nodesQuery: ListQuery = { path: '/api/v1/nodes' }

function Nodes({ at }: AtProps): JSX.Element {
  const within = namespace.value
  const podsQuery = useMemo(() => podsQueryOf(within), [within])
  const nodes = useTableAt(nodesQuery, at)
  const pods = useTableAt(podsQuery, at)
  const cards = useMemo(
    () =>
      planNodes({
        nodes: nodes.items.values(),
        nodeColumns: nodes.head ?? [],
        pods: pods.items.values(),
        podColumns: pods.head ?? [],
      }),
    [nodes, pods],
  )
  const marks = useMemo(() => cards.flatMap(card => card.pods), [cards])
  const nodeCount = nodes.items.size
  return (
    <>
      <p class="topology-summary" aria-live="polite">
        <strong>
          {nodes.phase === 'refused'
            ? 'Nodes unknown'
            : `${nodeCount.toLocaleString('en')} ${nodeCount === 1 ? 'node' : 'nodes'}`}
        </strong>
        , {pods.phase === 'refused' ? 'pods unknown' : describePods(marks)}
        {within === '' ? '' : ` in namespace ${within}`}
      </p>
      <ListState
        phase={nodes.phase}
        error={nodes.error}
        what="nodes"
        namespace=""
        isEmpty={nodes.items.size === 0}
      />
      {pods.phase === 'live' ? null : (
        <ListState
          phase={pods.phase}
          error={pods.error}
          what="pods"
          namespace={within}
          isEmpty={pods.items.size === 0}
        />
      )}
      {cards.length > 0 ? (
        <>
          <Legend />
          <NodeGrid cards={cards} />
          <NodeList cards={cards} />
        </>
      ) : null}
    </>
  )
}

function podsQueryOf(within: string): ListQuery {
  return { path: within === '' ? '/api/v1/pods' : `/api/v1/namespaces/${encodeURIComponent(within)}/pods` }
}

function Legend(): JSX.Element {
  return (
    <p class="topology-legend" aria-hidden="true">
      {legend.map(([tone, text, path]) => (
        <span key={tone}>
          <svg width={11} height={11}>
            <path class={`pod-mark tone-${tone}`} d={path} />
          </svg>
          {text}
        </span>
      ))}
    </p>
  )
}

const legend = [
  ['good', 'running', 'M0 0h11v11h-11z'],
  ['busy', 'in progress', 'M0 0h11v11h-11zm2 2v7h7v-7z'],
  ['warn', 'not ready', 'M5.5 0l5.5 11h-11z'],
  ['bad', 'failed', 'M5.5 0l5.5 5.5l-5.5 5.5l-5.5 -5.5z'],
  ['idle', 'completed', 'M0 4h11v3h-11z'],
] as const

/** Lists of a past moment, and live ones, for each kind of the graph. */
function Objects({ at }: AtProps): JSX.Element {
  const within = namespace.value
  const options = { within, at }
  const lists = new Map([
    ['ingresses.networking.k8s.io', useKind('ingresses.networking.k8s.io', options)] as const,
    ['services', useKind('services', options)] as const,
    ['cronjobs.batch', useKind('cronjobs.batch', options)] as const,
    ['deployments.apps', useKind('deployments.apps', options)] as const,
    ['statefulsets.apps', useKind('statefulsets.apps', options)] as const,
    ['daemonsets.apps', useKind('daemonsets.apps', options)] as const,
    ['jobs.batch', useKind('jobs.batch', options)] as const,
    ['replicasets.apps', useKind('replicasets.apps', options)] as const,
    ['persistentvolumeclaims', useKind('persistentvolumeclaims', options)] as const,
    ['pods', useKind('pods', options)] as const,
  ])
  const snapshots = [...lists.values()]
  const topology = useMemo(
    () =>
      planTopology(
        new Map(
          [...lists].map(([id, { items }]): [string, Iterable<KubernetesObject>] => [id, items.values()]),
        ),
      ),
    snapshots,
  )
  const isLoading = snapshots.some(({ phase }) => phase === 'loading')
  const unread = [...lists].filter(([, { phase }]) => phase === 'refused' || phase === 'reconnecting')
  const { nodes, isGrouped, hidden } = topology
  const failed = nodes.filter(({ tone }) => tone === 'bad').length
  return (
    <>
      <p class="topology-summary" aria-live="polite">
        <strong>{nodes.length} objects</strong>
        {within === '' ? ' in all namespaces' : ` in namespace ${within}`}
        {failed > 0 ? (
          <>
            , <StatusText tone="bad" text={`${failed.toLocaleString('en')} failed`} />
          </>
        ) : null}
        {isGrouped ? '; pods are grouped by workload, because there are many' : ''}
        {hidden > 0 ? `; ${hidden} more are not shown: select a namespace` : ''}
      </p>
      {unread.map(([id, { phase, error }]) => (
        <ListState key={id} phase={phase} error={error} what={id} namespace={within} isEmpty={false} />
      ))}
      {nodes.length === 0 ? (
        <ListState
          phase={isLoading ? 'loading' : 'live'}
          error={undefined}
          what="workloads, services or claims"
          namespace={within}
          isEmpty
        />
      ) : (
        <>
          <Lazy load={loadGraph} props={{ topology }} />
          <GraphList topology={topology} />
        </>
      )}
    </>
  )
}

const loadGraph = async () => (await import('./object-graph.tsx')).ObjectGraph

interface KindOptions {
  readonly within: string
  readonly at: string | undefined
}

const unserved: WatchSnapshot<KubernetesObject> = {
  phase: 'live',
  items: new Map(),
  head: undefined,
  error: undefined,
}

/** Kinds that the server does not serve are empty. */
function useKind(id: string, { within, at }: KindOptions): WatchSnapshot<KubernetesObject> {
  const resource = findResource(discovery.value.resources, id)
  const path = resource && listPath(resource, within)
  const query = useMemo(() => (path === undefined ? undefined : { path }), [path])
  const snapshot = useObjectsAt(query, at)
  return resource === undefined ? unserved : snapshot
}
