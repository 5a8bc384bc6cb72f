/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import type { Overlay } from '../overlay.ts'

export const nodeOverlay: Overlay = {
  quantities: ['Overhead.podFixed'],
  atomic: ['Scheduling.nodeSelector'],
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const nodeFieldNumbers = `
Overhead: podFixed
RuntimeClass: metadata handler overhead? scheduling?
RuntimeClassList: metadata items
Scheduling: nodeSelector tolerations
`
