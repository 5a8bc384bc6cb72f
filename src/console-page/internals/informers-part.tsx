import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { FilterField } from '../components/filter-field.tsx'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { PolledState } from '../components/polled-state.tsx'
import { StatusText } from '../components/status-text.tsx'
import type { Sample } from '../format/sample-series.ts'
import { replaceQuery, route } from '../router/router.ts'
import { componentsPath, useComponentState } from './component-state.ts'
import { informerLag, selectionText, type InformerState } from './informer-lag.ts'
import { Sparkline } from './sparkline.tsx'
import { useSeries } from './use-series.ts'

interface InformerRow extends InformerState {
  readonly key: string
  readonly lag: number | undefined
  readonly lags: readonly Sample[]
}

/** The caches of controllers and scheduler, and how far they are behind the API server. */
export function InformersPart(): JSX.Element {
  const polled = useComponentState()
  const lags = useSeries(polled, ({ informers }) =>
    informers.map(each => [keyOf(each), informerLag(each) ?? 0]),
  )
  const cursor = useSignal<string | undefined>(undefined)
  const { filter = '' } = route.value.query
  const rows = (polled.data?.informers ?? [])
    .filter(informer => keyOf(informer).toLowerCase().includes(filter.toLowerCase()))
    .map((informer): InformerRow => {
      const key = keyOf(informer)
      return { ...informer, key, lag: informerLag(informer), lags: lags.get(key) ?? [] }
    })
    .sort((left, right) => (left.key < right.key ? -1 : 1))
  const late = rows.filter(({ lag }) => lag !== undefined && lag > 0).length
  return (
    <>
      <div class="view-header">
        <h2>Informers</h2>
        <span class="count">{`${rows.length}, ${late} behind`}</span>
        <span class="view-header-space" />
        <FilterField label="Filter" value={filter} onInput={text => replaceQuery({ filter: text })} />
      </div>
      <PolledState polled={polled} path={componentsPath} what="the state of components" />
      {rows.length > 0 ? (
        <Grid label="Informers" columns={columns} rows={rows} keyOf={({ key }) => key} cursor={cursor} />
      ) : null}
    </>
  )
}

function keyOf(informer: InformerState): string {
  const { resource, apiVersion, component } = informer
  return `${resource} ${apiVersion} ${component} ${selectionText(informer)}`
}

const columns: readonly GridColumn<InformerRow>[] = [
  {
    title: 'Resource',
    width: 26,
    grows: true,
    cell: ({ resource, apiVersion }) => (
      <span title={`${resource} ${apiVersion}`}>
        {resource} <span class="detail">{apiVersion}</span>
      </span>
    ),
  },
  { title: 'Component', width: 20, cell: ({ component }) => component },
  {
    title: 'Selection',
    width: 14,
    cell: informer => <span title={selectionText(informer)}>{selectionText(informer)}</span>,
  },
  { title: 'Objects', width: 6, isNumber: true, cell: ({ objects }) => objects.toLocaleString('en') },
  {
    title: 'Revision',
    width: 7,
    isNumber: true,
    cell: ({ resourceVersion }) => resourceVersion ?? 'not listed',
  },
  {
    title: 'Behind',
    width: 7,
    description: 'Revisions between the informer and the last change of its resource',
    cell: ({ lag }) =>
      lag === undefined ? (
        <span title="The last change may be of an object that the informer does not select">unknown</span>
      ) : (
        <StatusText tone={lag === 0 ? 'good' : 'warn'} text={lag.toLocaleString('en')} />
      ),
  },
  { title: 'Last minutes', width: 11, cell: ({ lags }) => <Sparkline samples={lags} /> },
]
