import type { KubernetesObject } from '#/api/metadata.ts'

/** An Event of the core group. */
export interface EventObject extends KubernetesObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly count?: number
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string }
  readonly source?: { readonly component?: string; readonly host?: string }
  readonly reportingComponent?: string
  readonly involvedObject?: {
    readonly apiVersion?: string
    readonly kind?: string
    readonly namespace?: string
    readonly name?: string
  }
}

/** Old and new sources of events fill different fields. */
export function lastSeen({
  series,
  lastTimestamp,
  eventTime,
  firstTimestamp,
  metadata,
}: EventObject): string {
  const times = [
    series?.lastObservedTime,
    lastTimestamp,
    eventTime,
    firstTimestamp,
    metadata.creationTimestamp,
  ]
  return times.find(Boolean) ?? ''
}

export function eventsLatestFirst(events: Iterable<EventObject>): EventObject[] {
  return [...events]
    .map(event => ({ event, timeMs: Date.parse(lastSeen(event)) || 0 }))
    .sort((left, right) => right.timeMs - left.timeMs)
    .map(({ event }) => event)
}
