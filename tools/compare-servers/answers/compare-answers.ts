/** Compares the answers of two servers to one request, by class of difference. Pure. */
import { compareValues, type Difference } from '../../compare-api/compare-values.ts'
import { compareCauses } from './compare-causes.ts'
import { alignLists } from './align-lists.ts'
import type { ClassifiedDifference, DifferenceClass } from './difference-class.ts'

/** An answer in which everything that must differ has been replaced. */
export interface NormalAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
  readonly body: unknown
}

export function compareAnswers(ours: NormalAnswer, theirs: NormalAnswer): readonly ClassifiedDifference[] {
  if (ours.status !== theirs.status) {
    const [left, right] = [describe(ours), describe(theirs)]
    return [{ class: 'status', place: 'status', ours: left, theirs: right }]
  }
  return [
    ...compareBodies(ours.body, theirs.body),
    ...classify('warnings', compareWarnings(ours.warnings, theirs.warnings)),
    ...classify('headers', compareValues(ours.headers, theirs.headers, 'headers')),
  ]
}

function compareBodies(ours: unknown, theirs: unknown): readonly ClassifiedDifference[] {
  if (isFailure(ours) && isFailure(theirs)) return compareFailures(ours, theirs)
  const { left, right, missing } = alignLists(ours, theirs)
  return [...compareValues(left, right).map(bodyDifference), ...classify('objects', missing)]
}

interface Failure {
  readonly kind: 'Status'
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly Cause[] }
}

interface Cause {
  readonly field?: string
  readonly reason?: string
  readonly message?: string
}

function isFailure(body: unknown): body is Failure {
  const { kind, status } = (body ?? {}) as { readonly kind?: unknown; readonly status?: unknown }
  return kind === 'Status' && status === 'Failure'
}

/** The message of an invalid object repeats its causes, so it is compared only if they are the same. */
function compareFailures(ours: Failure, theirs: Failure): readonly ClassifiedDifference[] {
  if (ours.reason !== theirs.reason) {
    return [{ class: 'reason', place: 'reason', ours: sentence(ours), theirs: sentence(theirs) }]
  }
  const { message, details: { causes = [], ...details } = {}, ...rest } = ours
  const { message: other, details: { causes: otherCauses = [], ...otherDetails } = {}, ...otherRest } = theirs
  const found = compareCauses(causes, otherCauses)
  return [
    ...found,
    ...(found.length === 0 && message !== other
      ? [{ class: 'text' as const, place: '/message', ours: message, theirs: other }]
      : []),
    ...classify('body', compareValues({ ...rest, details }, { ...otherRest, details: otherDetails })),
  ]
}

/** Messages within objects and the descriptions of columns are free text, too. */
const freeText = /\/message$|\/columnDefinitions\/\d+\/description$/

function bodyDifference(difference: Difference): ClassifiedDifference {
  const { place, ours, theirs } = difference
  const isText = freeText.test(place) && ours !== undefined && theirs !== undefined
  return { ...difference, class: isText ? 'text' : 'body' }
}

function compareWarnings(ours: readonly string[], theirs: readonly string[]): readonly Difference[] {
  return ours.join('\n') === theirs.join('\n') ? [] : [{ place: 'warnings', ours, theirs }]
}

function classify(
  kind: DifferenceClass,
  differences: readonly Difference[],
): readonly ClassifiedDifference[] {
  return differences.map(each => ({ ...each, class: kind }))
}

function describe({ status, body }: NormalAnswer): string {
  return isFailure(body) ? `${status} ${sentence(body)}` : String(status)
}

function sentence({ reason = '', message = '' }: Failure): string {
  return `${reason}: ${message}`
}
