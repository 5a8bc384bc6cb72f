import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { ListState } from '../components/list-state.tsx'
import { useObjects } from '../data/subscriptions.ts'
import { eventsLatestFirst, type EventObject } from '../format/event-times.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { Age } from '../components/age.tsx'
import { StatusText } from '../components/status-text.tsx'
import { lastSeen } from '../format/event-times.ts'

/** Events about the object, the latest first. */
export function EventsTab({ object }: ObjectTabProps): JSX.Element {
  const { uid = '', namespace = 'default' } = object.metadata
  const query = useMemo(
    () => ({
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      parameters: { fieldSelector: `involvedObject.uid=${uid}` },
    }),
    [uid, namespace],
  )
  const { phase, items, error } = useObjects<EventObject>(query)
  const events = eventsLatestFirst(items.values())
  return (
    <>
      <ListState
        phase={phase}
        error={error}
        what="events"
        namespace={namespace}
        isEmpty={events.length === 0}
      />
      {events.length > 0 ? (
        // A region that scrolls must be reachable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div class="card table-scroll" role="region" aria-label="Events" tabIndex={0}>
          <table class="table is-stacked">
            <thead>
              <tr>
                <th scope="col">Last seen</th>
                <th scope="col">Type</th>
                <th scope="col">Reason</th>
                <th scope="col">From</th>
                <th scope="col">Message</th>
              </tr>
            </thead>
            <tbody>
              {events.map(event => (
                <EventRow key={event.metadata.uid} event={event} />
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </>
  )
}

function EventRow({ event }: { readonly event: EventObject }): JSX.Element {
  const count = event.series?.count ?? event.count ?? 1
  return (
    <tr>
      <td class="is-short">
        <Age time={lastSeen(event)} />
        {count > 1 ? ` (${count} times)` : null}
      </td>
      <td>
        <StatusText tone={event.type === 'Warning' ? 'warn' : undefined} text={event.type ?? ''} />
      </td>
      <td>{event.reason}</td>
      <td class="is-short">{event.source?.component || event.reportingComponent}</td>
      <td class="is-text is-message">{event.message}</td>
    </tr>
  )
}
