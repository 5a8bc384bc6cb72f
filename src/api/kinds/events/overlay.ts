/** Facts of the group that the generated definitions lack; only the generator reads them. */
import type { Overlay } from '../overlay.ts'

export const eventsOverlay: Overlay = {
  spacedSentences: ['Event'],
  resources: { events: { shortNames: ['ev'], storedAs: { group: '', version: 'v1' } } },
  fieldNumbers: `
Event: metadata! eventTime series? reportingController reportingInstance action reason regarding related? note
  type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount
EventList: metadata items
EventSeries: count lastObservedTime
`,
}
