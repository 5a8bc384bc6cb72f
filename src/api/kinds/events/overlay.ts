import type { Overlay } from '../overlay.ts'

export const events: Overlay = {
  resources: { events: { shortNames: ['ev'], storedAs: { group: '', version: 'v1' } } },
}
