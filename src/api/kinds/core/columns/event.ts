/** Table columns of Event, for events with a series (`events.k8s.io/v1`) or with a count (`v1`). */
import { nameColumn, nameOf, translateTimestampSince } from '../../../columns.ts'
import type { Event } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { textColumn, wideColumn } from '../../make-column.ts'
import type { Unchecked } from '../../unchecked.ts'

export const eventColumns: KindColumns<Event> = {
  columns: [
    textColumn('Last Seen', 'How long ago it happened last.'),
    textColumn('Type', 'Normal or Warning.'),
    textColumn('Reason', 'What happened, in one word.'),
    textColumn('Object', 'What it is about.'),
    wideColumn('Subobject', 'The part of the object it is about.'),
    wideColumn('Source', 'Who reported it, and where.'),
    textColumn('Message', 'What happened.'),
    wideColumn('First Seen', 'How long ago it happened for the first time.'),
    wideColumn('Count', 'How often it happened.'),
    { ...nameColumn, priority: 1 },
  ],
  cells: (event: Unchecked<Event>, nowMs) => {
    const { involvedObject: { kind = '', name = '', fieldPath = '' } = {}, series } = event
    const first = event.firstTimestamp || event.eventTime
    const last = series === undefined ? event.lastTimestamp || first : series.lastObservedTime
    return [
      translateTimestampSince(last, nowMs),
      event.type ?? '',
      event.reason ?? '',
      name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      fieldPath,
      sourceText(event),
      (event.message ?? '').trim(),
      translateTimestampSince(first, nowMs),
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
