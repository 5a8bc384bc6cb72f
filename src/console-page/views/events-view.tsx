import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { Age } from '../components/age.tsx'
import { FilterField } from '../components/filter-field.tsx'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { ListState } from '../components/list-state.tsx'
import { StatusText } from '../components/status-text.tsx'
import { resourceOfKind } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { useObjects } from '../data/subscriptions.ts'
import { itemKey } from '../data/watch-cache.ts'
import { eventsLatestFirst, lastSeen, type EventObject } from '../format/event-times.ts'
import { useKeys } from '../keyboard/key-bindings.ts'
import { hrefOfObject, namespace, navigate, replaceQuery, route } from '../router/router.ts'

/** Events of the selected namespace, the latest first. */
export function EventsView(): JSX.Element {
  const within = namespace.value
  const query = useMemo(() => eventsQuery(within), [within])
  const { phase, items, error } = useObjects<EventObject>(query)
  const { filter = '', warnings } = route.value.query
  const onlyWarnings = warnings === 'true'
  const cursor = useSignal<string | undefined>(undefined)
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = eventsLatestFirst(items.values()).filter(event => {
    if (onlyWarnings && event.type !== 'Warning') return false
    const text = searchText(event)
    return words.every(word => text.includes(word))
  })
  const toggleWarnings = (): void => replaceQuery({ warnings: onlyWarnings ? undefined : 'true' })
  useKeys([{ keys: 'w', title: 'Warnings only', run: toggleWarnings }])
  useEffect(() => {
    document.title = 'Events - k8ts'
  }, [])
  return (
    <div class="list-view">
      <header class="view-header">
        <h1>Events</h1>
        <p class="count">{rows.length.toLocaleString('en')}</p>
        <span class="view-header-space" />
        <FilterField label="Filter" value={filter} onInput={text => replaceQuery({ filter: text })} />
        <label class="check">
          <input type="checkbox" checked={onlyWarnings} onChange={toggleWarnings} />
          Warnings
        </label>
      </header>
      <ListState phase={phase} error={error} what="events" namespace={within} isEmpty={rows.length === 0} />
      {items.size > 0 ? (
        <Grid
          label="Events"
          columns={columns}
          rows={rows}
          keyOf={event => itemKey(event.metadata)}
          cursor={cursor}
          onOpen={event => {
            const href = hrefOfInvolved(event)
            if (href !== undefined) navigate(href)
          }}
        />
      ) : null}
    </div>
  )
}

function eventsQuery(within: string) {
  return {
    path: within === '' ? '/api/v1/events' : `/api/v1/namespaces/${encodeURIComponent(within)}/events`,
  }
}

const columns: readonly GridColumn<EventObject>[] = [
  { title: 'Last seen', width: 7, cell: event => <Age time={lastSeen(event)} /> },
  {
    title: 'Type',
    width: 8,
    cell: ({ type = '' }) => <StatusText tone={type === 'Warning' ? 'warn' : undefined} text={type} />,
  },
  { title: 'Reason', width: 18, cell: ({ reason }) => reason },
  { title: 'Object', width: 28, cell: event => <InvolvedObject event={event} /> },
  { title: 'Count', width: 4, isNumber: true, cell: ({ series, count }) => series?.count ?? count ?? 1 },
  {
    title: 'Message',
    width: 30,
    grows: true,
    cell: ({ message = '' }) => <span title={message}>{message}</span>,
  },
]

function InvolvedObject({ event }: { readonly event: EventObject }): JSX.Element {
  const { kind = '', name = '' } = event.involvedObject ?? {}
  const text = `${kind}/${name}`
  const href = hrefOfInvolved(event)
  return href === undefined ? (
    <>{text}</>
  ) : (
    <a href={href} tabIndex={-1} title={text}>
      {text}
    </a>
  )
}

function hrefOfInvolved({ involvedObject = {} }: EventObject): string | undefined {
  const { apiVersion = 'v1', kind = '', namespace: within = '', name = '' } = involvedObject
  const resource = resourceOfKind(discovery.value.resources, { apiVersion, kind })
  if (resource === undefined || name === '') return undefined
  return hrefOfObject(resource, { namespace: resource.namespaced ? within : '', name })
}

function searchText({ type, reason, message, involvedObject = {}, metadata }: EventObject): string {
  const { kind, name } = involvedObject
  return `${metadata.namespace} ${type} ${reason} ${kind}/${name} ${message}`.toLowerCase()
}
