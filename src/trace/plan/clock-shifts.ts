import type { Pass } from '#/api/origin.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'

/** Times within it are rounding, or the delay of what records them. */
export const timeToleranceMs = 5

/**
 * Corrections of the clocks of other machines, by `clockOf`. A clock differs if a pass of its component cannot be: it
 * begins before the first of its causes, or after its request was received. The API server's clock is the reference,
 * and durations are taken to be right. Causes of the same clock prove nothing: a kubelet goes on with its work while it
 * writes a status.
 */
export function planClockShifts(
  writes: readonly WriteRecord[],
  passes: readonly EndedPass[],
): ReadonlyMap<string, number> {
  const byRevision = new Map(writes.map(write => [write.revision, write]))
  const shifts = new Map<string, number>()
  const note = (pass: Pass, receivedMs: number): void => {
    const clock = clockOf(pass)
    const first = pass.causes.flatMap(cause => byRevision.get(cause) ?? [])[0]
    const isForeign = first?.origin?.pass === undefined || clockOf(first.origin.pass) !== clock
    const shiftMs = shiftOf(pass, { earliestMs: isForeign ? first?.timeMs : undefined, receivedMs })
    if (Math.abs(shiftMs) > Math.abs(shifts.get(clock) ?? 0)) shifts.set(clock, shiftMs)
  }
  for (const { origin } of writes) if (origin?.pass !== undefined) note(origin.pass, origin.receivedMs)
  for (const pass of passes) note(pass, Infinity)
  return shifts
}

/** Components of a node share its clock. */
export function clockOf({ node, component }: Pick<Pass, 'node' | 'component'>): string {
  return node ?? component
}

interface Bounds {
  /** When the first cause was visible. */
  readonly earliestMs: number | undefined
  /** When the request of the pass was received. */
  readonly receivedMs: number
}

function shiftOf(
  { queuedMs, startedMs, steps }: Pass,
  { earliestMs = -Infinity, receivedMs }: Bounds,
): number {
  const workedMs = Math.max(0, ...steps.map(({ startMs, durationMs }) => startMs + durationMs))
  const latestMs = receivedMs - startedMs - workedMs
  if (receivedMs + timeToleranceMs < startedMs) return latestMs
  if (startedMs + timeToleranceMs >= earliestMs) return 0
  const shiftMs = Math.min(earliestMs - Math.min(queuedMs, startedMs), latestMs)
  return shiftMs > timeToleranceMs ? shiftMs : 0
}
