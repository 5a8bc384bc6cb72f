/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import type { Overlay } from '../overlay.ts'

export const eventsOverlay: Overlay = {
  resources: { events: { shortNames: ['ev'], storedAs: { group: '', version: 'v1' } } },
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const eventsFieldNumbers = `
Event: metadata! eventTime series? reportingController reportingInstance action reason regarding related? note
  type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount
EventList: metadata items
EventSeries: count lastObservedTime
`
