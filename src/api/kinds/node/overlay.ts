/** Facts of the group that the generated definitions lack; only the generator reads them. */
import type { Overlay } from '../overlay.ts'

export const nodeOverlay: Overlay = {
  quantities: ['Overhead.podFixed'],
  atomic: ['Scheduling.nodeSelector'],
  spacedSentences: ['RuntimeClass', 'RuntimeClass.handler'],
  fieldNumbers: `
Overhead: podFixed
RuntimeClass: metadata handler overhead? scheduling?
RuntimeClassList: metadata items
Scheduling: nodeSelector tolerations
`,
}
