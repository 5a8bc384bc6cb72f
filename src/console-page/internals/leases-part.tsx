import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { Age } from '../components/age.tsx'
import { FilterField } from '../components/filter-field.tsx'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { ListState } from '../components/list-state.tsx'
import { StatusText } from '../components/status-text.tsx'
import { useObjects } from '../data/subscriptions.ts'
import { nowMs } from '../format/now.ts'
import { hrefOf, navigate, replaceQuery, route } from '../router/router.ts'

const query = { path: '/apis/coordination.k8s.io/v1/leases' }
const nodeLeases = 'kube-node-lease'

/** Leader elections, identities of API servers, and heartbeats of nodes. */
export function LeasesPart(): JSX.Element {
  const { phase, items, error } = useObjects<Lease>(query)
  const cursor = useSignal<string | undefined>(undefined)
  const { filter = '' } = route.value.query
  const rows = [...items.values()]
    .filter(lease => `${keyOf(lease)} ${lease.spec?.holderIdentity ?? ''}`.includes(filter))
    .sort((left, right) => order(left) - order(right) || (keyOf(left) < keyOf(right) ? -1 : 1))
  return (
    <>
      <div class="view-header">
        <h2>Leases</h2>
        <span class="count">{rows.length.toLocaleString('en')}</span>
        <span class="view-header-space" />
        <FilterField label="Filter" value={filter} onInput={text => replaceQuery({ filter: text })} />
      </div>
      <ListState phase={phase} error={error} what="leases" namespace="" isEmpty={rows.length === 0} />
      {rows.length > 0 ? (
        <Grid
          label="Leases"
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          cursor={cursor}
          onOpen={({ metadata: { namespace = '', name = '' } }) =>
            navigate(hrefOf(['leases.coordination.k8s.io', namespace, name]))
          }
        />
      ) : null}
    </>
  )
}

function keyOf({ metadata }: Lease): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

/** Heartbeats of nodes come last: there may be thousands. */
function order({ metadata }: Lease): number {
  return metadata.namespace === nodeLeases ? 1 : 0
}

const columns: readonly GridColumn<Lease>[] = [
  { title: 'Lease', width: 24, cell: lease => <span title={keyOf(lease)}>{keyOf(lease)}</span> },
  { title: 'Valid for', width: 8, cell: lease => <Validity lease={lease} /> },
  { title: 'Renewed', width: 7, cell: ({ spec }) => <Age time={spec?.renewTime} /> },
  { title: 'Holder', width: 20, grows: true, cell: ({ spec }) => spec?.holderIdentity },
  {
    title: 'Purpose',
    width: 14,
    cell: ({ metadata, spec }) => {
      if (metadata.namespace === nodeLeases) return 'node heartbeat'
      return spec?.leaseTransitions === undefined ? 'identity' : 'leader election'
    },
  },
  { title: 'Transitions', width: 9, isNumber: true, cell: ({ spec }) => spec?.leaseTransitions },
  { title: 'Age', width: 6, cell: ({ metadata }) => <Age time={metadata.creationTimestamp} /> },
]

function Validity({ lease: { spec } }: { readonly lease: Lease }): JSX.Element {
  const { renewTime = '', leaseDurationSeconds = 0 } = spec ?? {}
  const untilMs = Date.parse(renewTime) + leaseDurationSeconds * 1_000
  if (Number.isNaN(untilMs)) return <>no holder</>
  const seconds = Math.round((untilMs - nowMs.value) / 1_000)
  if (seconds < 0) return <StatusText tone="warn" text="expired" />
  return <StatusText tone="good" text={`${seconds}s`} />
}
