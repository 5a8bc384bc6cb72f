import type { Overlay } from '../overlay.ts'

export const node: Overlay = {
  quantities: ['Overhead.podFixed'],
  atomic: ['Scheduling.nodeSelector'],
}
