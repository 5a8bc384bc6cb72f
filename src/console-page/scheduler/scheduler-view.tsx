import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Pod } from '#/api/generated/core/v1.ts'
import { Age } from '../components/age.tsx'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { ListState } from '../components/list-state.tsx'
import { Notice } from '../components/notice.tsx'
import { PolledState } from '../components/polled-state.tsx'
import { StatusText } from '../components/status-text.tsx'
import { useObjects } from '../data/subscriptions.ts'
import { readJson, usePolled } from '../data/use-polled.ts'
import { hrefOf, namespace, navigate, route } from '../router/router.ts'
import { DecisionPanel } from './decision-panel.tsx'
import type { PodDecision } from './decision-rows.ts'

/** An entry of `/debug/scheduling`. */
type DecisionSummary = Omit<PodDecision, 'rejected' | 'scored'> & { readonly feasibleNodes: number }

const path = '/debug/scheduling'
const intervalMs = 2_000

/** Pods that wait for a node, the latest decisions, and the nodes of the selected one. */
export function SchedulerView(): JSX.Element {
  const { pod = '' } = route.value.query
  useEffect(() => {
    document.title = 'Scheduler - k8ts'
  }, [])
  const [within, name] = pod.split('/')
  return (
    <div class="scheduler-view">
      <header class="view-header">
        <h1>Scheduler</h1>
      </header>
      <div class="scheduler-lists">
        <PendingPods />
        <Decisions />
      </div>
      <section class="scheduler-decision" aria-label="Decision">
        {within && name ? (
          <>
            <h2>{pod}</h2>
            <DecisionPanel key={pod} namespace={within} name={name} />
          </>
        ) : (
          <Notice tone="idle" title="Select a pod to see each node's filters and scores" />
        )}
      </section>
    </div>
  )
}

function hrefOfDecision(pod: string): string {
  return hrefOf(['scheduler'], { pod })
}

/** In a grid, the keys of the grid open it. */
function PodLink({ pod }: { readonly pod: string }): JSX.Element {
  return (
    <a href={hrefOfDecision(pod)} tabIndex={-1} title={pod}>
      {pod}
    </a>
  )
}

function PendingPods(): JSX.Element {
  const cursor = useSignal<string | undefined>(undefined)
  const within = namespace.value
  const query = useMemo(() => pendingQuery(within), [within])
  const { phase, items, error } = useObjects<Pod>(query)
  const rows = [...items.values()].filter(({ status }) => status?.phase === 'Pending')
  return (
    <section aria-label="Pending pods">
      <h2>
        Without a node <span class="count">{rows.length.toLocaleString('en')}</span>
      </h2>
      <ListState
        phase={phase}
        error={error}
        what="pending pods"
        namespace={within}
        isEmpty={rows.length === 0}
      />
      {rows.length > 0 ? (
        <Grid
          label="Pending pods"
          columns={pendingColumns}
          rows={rows}
          keyOf={keyOfPod}
          cursor={cursor}
          onOpen={pod => navigate(hrefOfDecision(keyOfPod(pod)))}
        />
      ) : null}
    </section>
  )
}

function pendingQuery(within: string) {
  const place = within === '' ? '' : `/namespaces/${encodeURIComponent(within)}`
  return { path: `/api/v1${place}/pods`, parameters: { fieldSelector: 'spec.nodeName=' } }
}

function keyOfPod({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

const pendingColumns: readonly GridColumn<Pod>[] = [
  { title: 'Pod', width: 16, cell: pod => <PodLink pod={keyOfPod(pod)} /> },
  { title: 'Age', width: 4, cell: ({ metadata }) => <Age time={metadata.creationTimestamp} /> },
  { title: 'Why', width: 20, grows: true, cell: pod => <PendingReason pod={pod} /> },
]

function PendingReason({ pod }: { readonly pod: Pod }): JSX.Element {
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (condition === undefined) return <>not tried yet</>
  const { reason = '', message = '' } = condition
  return <span title={message}>{message || reason}</span>
}

function Decisions(): JSX.Element {
  const cursor = useSignal<string | undefined>(undefined)
  const polled = usePolled({ path, intervalMs, read: readJson<{ readonly decisions: DecisionSummary[] }> })
  const within = namespace.value
  const rows = (polled.data?.decisions ?? []).filter(
    ({ pod }) => within === '' || pod.startsWith(`${within}/`),
  )
  return (
    <section aria-label="Recent decisions">
      <h2>
        Recent decisions <span class="count">{rows.length.toLocaleString('en')}</span>
      </h2>
      <PolledState polled={polled} path={path} what="scheduling decisions" />
      {rows.length > 0 ? (
        <Grid
          label="Recent decisions"
          columns={decisionColumns}
          rows={rows}
          keyOf={({ pod }) => pod}
          cursor={cursor}
          onOpen={({ pod }) => navigate(hrefOfDecision(pod))}
        />
      ) : null}
      {polled.data && rows.length === 0 ? <Notice tone="idle" title="No decisions yet" /> : null}
    </section>
  )
}

const decisionColumns: readonly GridColumn<DecisionSummary>[] = [
  { title: 'Pod', width: 20, grows: true, cell: ({ pod }) => <PodLink pod={pod} /> },
  {
    title: 'Node',
    width: 11,
    cell: ({ node }) => (
      <StatusText tone={node === undefined ? 'warn' : 'good'} text={node ?? 'unschedulable'} />
    ),
  },
  { title: 'Age', width: 4, cell: ({ time }) => <Age time={time} /> },
  {
    title: 'Feasible',
    width: 5,
    isNumber: true,
    description: 'Nodes that passed all filters, of those in the cluster',
    cell: ({ feasibleNodes, nodes }) => `${feasibleNodes} of ${nodes}`,
  },
]
