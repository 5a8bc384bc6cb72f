import { signal } from '@preact/signals'
import { humanDuration } from '#/api/text/duration.ts'

/** Wall time for ages, updated each second while the page is visible. */
export const nowMs = signal(Date.now())

setInterval(() => {
  if (document.visibilityState === 'visible') nowMs.value = Date.now()
}, 1_000)

/** `3h12m`; empty if there is no time. Components that call it are rendered each second. */
export function ageOf(time: string | undefined): string {
  const since = Date.parse(time ?? '')
  return Number.isNaN(since) ? '' : humanDuration(Math.max(0, nowMs.value - since))
}
