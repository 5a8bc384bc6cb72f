import type { Verdict } from '#/simulation/history/check-history.ts'
import type { Tally } from './recorder.ts'

export function describeProgress(
  elapsedMs: number,
  { operations, acknowledgedWrites, faults }: Tally,
): string {
  const figures = `${operations} operations, ${acknowledgedWrites} acknowledged writes`
  return `${String(Math.round(elapsedMs / 1_000)).padStart(5)} s: ${figures}, faults: ${describeFaults(faults)}`
}

function describeFaults(faults: Tally['faults']): string {
  return (
    Object.entries(faults)
      .map(([kind, times]) => `${kind} ${times}`)
      .join(', ') || 'none'
  )
}

export interface Report {
  readonly tally: Tally
  /** Longest time without an acknowledged write by kind of the fault in it, in milliseconds. */
  readonly gaps?: ReadonlyMap<string, number>
  /** Of the target. */
  readonly figures?: string | undefined
  readonly verdict: Verdict
  readonly checkMs: number
  readonly historyFile: string
}

export function describeReport(report: Report): string[] {
  const { tally, gaps = new Map<string, number>(), figures, verdict, checkMs, historyFile } = report
  const { operations, acknowledgedWrites, unknownOutcomes, watchedEvents, longestUnavailableMs } = tally
  const { expiredWatches, expiredLists } = tally
  const total = Object.values(tally.faults).reduce((sum, each) => sum + each, 0)
  return [
    `operations            ${operations}, ${unknownOutcomes} of unknown outcome`,
    `acknowledged writes   ${acknowledgedWrites}`,
    `watched events        ${watchedEvents}`,
    `expired (410)         ${expiredWatches} watches, ${expiredLists} lists`,
    `faults                ${total} (${describeFaults(tally.faults)})`,
    `longest unavailable   ${(longestUnavailableMs / 1_000).toFixed(1)} s`,
    ...(gaps.size > 0 ? [`with a fault          ${describeGaps(gaps)}`] : []),
    ...(figures === undefined ? [] : [figures]),
    `checked in            ${(checkMs / 1_000).toFixed(1)} s`,
    ...describeVerdict(verdict),
    `history               ${historyFile}`,
  ]
}

function describeGaps(gaps: ReadonlyMap<string, number>): string {
  return [...gaps].map(([kind, gapMs]) => `${kind} ${(gapMs / 1_000).toFixed(1)} s`).join(', ')
}

/** Violations are often consequences of one another: more lines than these do not help. */
const violationsShown = 20

export function describeVerdict({ violations, undecided }: Verdict): string[] {
  const hidden = violations.length - violationsShown
  return [
    `violations            ${violations.length}`,
    ...violations.slice(0, violationsShown).map(each => `  ${each}`),
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
    ...(undecided.length > 0 ? [`undecided             ${undecided.join(', ')}`] : []),
  ]
}
