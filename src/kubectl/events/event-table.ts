import type { Event } from '#/api/generated/core/v1.ts'
import { humanDuration } from '#/api/text/duration.ts'

export interface EventTableOptions {
  readonly withNamespace: boolean
  readonly nowMs: number
}

export function eventHeader({ withNamespace }: EventTableOptions): string {
  return `${withNamespace ? 'NAMESPACE\t' : ''}LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n`
}

/** A line of the table, with tabs between the cells. */
export function eventRow(event: Event, { withNamespace, nowMs }: EventTableOptions): string {
  const { metadata, involvedObject, type = '', reason = '', message = '' } = event
  const object = `${safe(involvedObject.kind)}/${safe(involvedObject.name)}`
  const cells = [lastSeen(event, nowMs), safe(type), safe(reason), object, safe(message.trim())]
  return `${[...(withNamespace ? [metadata.namespace ?? ''] : []), ...cells].join('\t')}\n`
}

/** Escapes what would control a terminal. */
function safe(text = ''): string {
  return text.replaceAll('\x1b', '^[').replaceAll('\r', '\\r')
}

/** `5m`, or `10s (x3 over 5m)` for an event that has been repeated. */
function lastSeen(
  { eventTime, firstTimestamp, lastTimestamp, series, count = 0 }: Event,
  nowMs: number,
): string {
  const first = since(eventTime ?? firstTimestamp, nowMs)
  if (series) return `${since(series.lastObservedTime, nowMs)} (x${series.count ?? 0} over ${first})`
  return count > 1 ? `${since(lastTimestamp, nowMs)} (x${count} over ${first})` : first
}

function since(time: string | null | undefined, nowMs: number): string {
  return time ? humanDuration(nowMs - Date.parse(time)) : '<unknown>'
}

/** By the time of the last occurrence. */
export function sortEvents(events: readonly Event[]): readonly Event[] {
  return events
    .map(event => ({ event, timeMs: timeOf(event) }))
    .sort((a, b) => a.timeMs - b.timeMs)
    .map(({ event }) => event)
}

/** An event without a time comes first. */
function timeOf({ series, lastTimestamp, eventTime }: Event): number {
  const time = series ? series.lastObservedTime : lastTimestamp || eventTime
  return time ? Date.parse(time) : -Infinity
}
