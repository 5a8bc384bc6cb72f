/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const events = `
Event: metadata! eventTime series? reportingController reportingInstance action reason regarding related? note
  type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount
EventList: metadata items
EventSeries: count lastObservedTime
`
