import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Age } from '../components/age.tsx'
import { FilterField } from '../components/filter-field.tsx'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { PolledState } from '../components/polled-state.tsx'
import { StatusText } from '../components/status-text.tsx'
import { readJson, usePolled } from '../data/use-polled.ts'
import { replaceQuery, route } from '../router/router.ts'
import { clientOfWatch, watchedResource, watchMap } from './watch-map.ts'
import type { ServedWatch, WatchedResource, WatchingClient, WatchMap } from './watch-map.ts'

const path = '/debug/watches'
const intervalMs = 3_000

/** Who watches what: a map of resources by clients, and each watch. */
export function WatchesPart(): JSX.Element {
  const polled = usePolled({ path, intervalMs, read: readJson<{ readonly watches: ServedWatch[] }> })
  const { client, resource } = route.value.query
  const watches = polled.data?.watches ?? noWatches
  const map = useMemo(() => watchMap(watches), [watches])
  return (
    <>
      <div class="view-header">
        <h2>Resources and clients</h2>
        <span class="count">{`${watches.length} watches of ${map.resources.length} resources`}</span>
      </div>
      <PolledState polled={polled} path={path} what="watches" />
      {polled.data ? (
        <>
          <Map map={map} client={client} resource={resource} />
          <WatchTable watches={watches} client={client} resource={resource} />
        </>
      ) : null}
    </>
  )
}

const noWatches: readonly ServedWatch[] = []

interface Selection {
  readonly client: string | undefined
  readonly resource: string | undefined
}

interface MapProps extends Selection {
  readonly map: WatchMap
}

function Map({ map: { clients, resources }, ...selection }: MapProps): JSX.Element {
  const most = Math.max(
    1,
    ...resources.flatMap(({ cells }) => [...cells.values()].map(({ watches }) => watches)),
  )
  return (
    // A region that scrolls must be reachable with the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class="watch-map" role="region" aria-label="Map of watches" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Resource</th>
            {clients.map(({ name, watches }) => (
              <th key={name} scope="col">
                <span>{name}</span> <span class="count">{watches}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {resources.map(each => (
            <MapRow key={each.name} row={each} clients={clients} most={most} {...selection} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface MapRowProps extends Selection {
  readonly row: WatchedResource
  readonly clients: readonly WatchingClient[]
  /** Number of watches in the fullest cell. */
  readonly most: number
}

function MapRow({ row, clients, most, client, resource }: MapRowProps): JSX.Element {
  return (
    <tr>
      <th scope="row">{row.name}</th>
      {clients.map(({ name }) => {
        const cell = row.cells.get(name)
        // A cell of a table needs no label.
        // oxlint-disable-next-line jsx-a11y/control-has-associated-label
        if (cell === undefined) return <td key={name} />
        const isSelected = client === name && resource === row.name
        const select = (): void =>
          replaceQuery(
            isSelected ? { client: undefined, resource: undefined } : { client: name, resource: row.name },
          )
        const events = `${cell.sent} events sent, ${cell.backlog} unread`
        const size = String(Math.sqrt(cell.watches / most))
        return (
          <td key={name}>
            <button
              type="button"
              class={cell.backlog > 0 ? 'has-backlog' : ''}
              aria-pressed={isSelected}
              aria-label={`${cell.watches} watches of ${row.name} by ${name}, ${events}`}
              title={events}
              onClick={select}
            >
              <span class="watch-dot" style={{ '--size': size }} aria-hidden="true" />
              {cell.watches}
            </button>
          </td>
        )
      })}
    </tr>
  )
}

interface WatchTableProps extends Selection {
  readonly watches: readonly ServedWatch[]
}

interface WatchRow extends ServedWatch {
  readonly key: string
}

function WatchTable({ watches, client, resource }: WatchTableProps): JSX.Element {
  const cursor = useSignal<string | undefined>(undefined)
  const { filter = '' } = route.value.query
  const rows = withKeys(watches).filter(watch => {
    if (client !== undefined && !matchesClient(watch, { client, watches })) return false
    if (resource !== undefined && watchedResource(watch) !== resource) return false
    return `${watch.user} ${watch.userAgent} ${watchedResource(watch)}`.includes(filter)
  })
  return (
    <>
      <div class="view-header">
        <h2>Watches</h2>
        <span class="count">{rows.length.toLocaleString('en')}</span>
        {client !== undefined && resource !== undefined ? (
          <button
            type="button"
            class="button"
            onClick={() => replaceQuery({ client: undefined, resource: undefined })}
          >
            {`All watches instead of ${resource} by ${client}`}
          </button>
        ) : null}
        <span class="view-header-space" />
        <FilterField label="Filter" value={filter} onInput={text => replaceQuery({ filter: text })} />
      </div>
      <Grid label="Watches" columns={columns} rows={rows} keyOf={({ key }) => key} cursor={cursor} />
    </>
  )
}

/** Clients without a column of their own are selected together. */
function matchesClient(
  watch: ServedWatch,
  { client, watches }: { readonly client: string; readonly watches: readonly ServedWatch[] },
): boolean {
  const name = clientOfWatch(watch)
  if (name === client) return true
  const { clients } = watchMap(watches)
  return !clients.some(each => each.name === name) && clients.at(-1)?.name === client
}

function withKeys(watches: readonly ServedWatch[]): WatchRow[] {
  return watches.map((watch, index) => ({ ...watch, key: `${watch.since} ${watch.user} ${index}` }))
}

const columns: readonly GridColumn<WatchRow>[] = [
  {
    title: 'Resource',
    width: 24,
    cell: watch => <span title={watchedResource(watch)}>{watchedResource(watch)}</span>,
  },
  { title: 'User', width: 18, cell: ({ user }) => <span title={user}>{user}</span> },
  {
    title: 'User agent',
    width: 18,
    grows: true,
    cell: ({ userAgent }) => <span title={userAgent}>{userAgent}</span>,
  },
  {
    title: 'Selection',
    width: 12,
    cell: ({ namespace, labelSelector, fieldSelector }) => {
      const text = [namespace, labelSelector, fieldSelector].filter(Boolean).join(', ')
      return <span title={text}>{text}</span>
    },
  },
  { title: 'Since', width: 5, cell: ({ since }) => <Age time={since} /> },
  { title: 'Sent', width: 6, isNumber: true, cell: ({ sent }) => sent.toLocaleString('en') },
  {
    title: 'Unread',
    width: 6,
    isNumber: true,
    cell: ({ backlog }) => (backlog > 0 ? <StatusText tone="warn" text={String(backlog)} /> : 0),
  },
]
