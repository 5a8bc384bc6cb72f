/** Table columns of Event, for events with a series (`events.k8s.io/v1`) or with a count (`v1`). */
import { nameColumn, nameOf, translateTimestampSince } from '../../columns.ts'
import type { Event } from '../../generated/core/v1.ts'
import type { KindColumns } from '../../table-columns.ts'
import { textColumn, wideColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'

export const eventColumns: KindColumns<Event> = {
  columns: [
    textColumn('Last Seen', 'Time since the last occurrence.'),
    textColumn('Type', 'Normal or Warning.'),
    textColumn('Reason', 'Machine-readable reason.'),
    textColumn('Object', 'The involved object.'),
    wideColumn('Subobject', 'Field path of the involved object.'),
    wideColumn('Source', 'Reporting component and host.'),
    textColumn('Message', 'Human-readable description.'),
    wideColumn('First Seen', 'Time since the first occurrence.'),
    wideColumn('Count', 'Number of occurrences.'),
    { ...nameColumn, priority: 1 },
  ],
  cells: (event: Unchecked<Event>) => {
    const { involvedObject: { kind = '', name = '', fieldPath = '' } = {}, series } = event
    const first = event.firstTimestamp || event.eventTime
    const last = series === undefined ? event.lastTimestamp || first : series.lastObservedTime
    return [
      translateTimestampSince(last),
      event.type ?? '',
      event.reason ?? '',
      name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      fieldPath,
      sourceText(event),
      (event.message ?? '').trim(),
      translateTimestampSince(first),
      series === undefined ? event.count || 1 : (series.count ?? 0),
      nameOf(event),
    ]
  },
}

function sourceText({ source, reportingComponent, reportingInstance }: Unchecked<Event>): string {
  const component = source?.component || (reportingComponent ?? '')
  const instance = source?.host || (reportingInstance ?? '')
  return instance === '' ? component : `${component}, ${instance}`
}
