/** Checks a whole history: revisions, watches, and linearizability for each object. */
import { checkRevisions } from './check-revisions.ts'
import { checkWatches } from './check-watches.ts'
import {
  describeOperation,
  type HistoryRecord,
  type Operation,
  type Outcome,
  type Version,
} from './history.ts'
import { linearize, type SearchBounds, type Stuck, type TimedOperation } from './linearizability.ts'
import { objectModelOf } from './object-model.ts'
import { RevisionLog } from './revision-log.ts'
import { UnknownOutcomes } from './unknown-outcomes.ts'

export interface Verdict {
  /** One line or more for each. */
  readonly violations: readonly string[]
  /** Objects for which the search for a linearization reached its bounds. */
  readonly undecided: readonly string[]
}

export function checkHistory(history: readonly HistoryRecord[], bounds?: SearchBounds): Verdict {
  const log = new RevisionLog(history)
  const violations = [...checkRevisions(history, log), ...checkWatches(history, log)]
  const undecided: string[] = []
  for (const [key, operations] of operationsByKey(history, log)) {
    const model = objectModelOf(revision => log.nextOf(key, revision))
    const result = linearize(model, operations, bounds)
    if (result.type === 'violation') violations.push(describeStuck(key, result.stuck))
    if (result.type === 'undecided') undecided.push(key)
  }
  return { violations, undecided }
}

type ByKey = ReadonlyMap<string, readonly TimedOperation<Operation>[]>

/**
 * Operations on different objects are independent, so that each object is checked alone (locality of
 * linearizability). A consistent list is a read of every object.
 */
function operationsByKey(history: readonly HistoryRecord[], log: RevisionLog): ByKey {
  const byKey = new Map<string, TimedOperation<Operation>[]>()
  const unknown = new UnknownOutcomes(history, log)
  for (const record of history) {
    if (record.type !== 'operation' || record.isStale) continue
    const timed = timedOperation(record, log, unknown)
    if (timed !== undefined) byKey.getOrInsertComputed(record.key, () => []).push(timed)
  }
  for (const record of history) {
    if (record.type !== 'list' || record.match !== 'consistent') continue
    const { client, callMs, returnMs, objects } = record
    for (const [key, ofKey] of byKey) {
      const version = Object.hasOwn(objects, key) ? objects[key] : undefined
      const operation = readOperation({ client: `${client} (list)`, key, callMs, returnMs }, version)
      ofKey.push({ operation, callMs, returnMs, isOptional: false })
    }
  }
  return byKey
}

function readOperation(
  base: Pick<Operation, 'client' | 'key' | 'callMs' | 'returnMs'>,
  version: Version | undefined,
): Operation {
  const outcome: Outcome =
    version === undefined ? { type: 'failed', reason: 'NotFound' } : { type: 'ok', version }
  return { type: 'operation', verb: 'get', ...base, outcome }
}

/**
 * Undefined for an operation without information. A write of unknown outcome that was seen has happened, with the
 * revision at which it was seen.
 */
function timedOperation(
  operation: Operation,
  log: RevisionLog,
  unknown: UnknownOutcomes,
): TimedOperation<Operation> | undefined {
  const { verb, key, value, outcome, callMs, returnMs } = operation
  if (outcome.type === 'failed' && outcome.reason === 'Rejected') return undefined
  if (outcome.type !== 'unknown') return { operation, callMs, returnMs, isOptional: false }
  if (verb === 'get') return undefined
  const seen = value === undefined ? undefined : log.ofValue(key, value)
  if (value === undefined || seen === undefined) {
    return { operation, callMs: unknown.earliestMs(operation), returnMs: Infinity, isOptional: true }
  }
  const version = { value, revision: seen.revision }
  const known: Operation = { ...operation, outcome: { type: 'ok', version } }
  return { operation: known, callMs, returnMs: Infinity, isOptional: false }
}

function describeStuck(key: string, { length, last, state, next }: Stuck<Operation>): string {
  const lines = [
    `${key} is not linearizable: after ${length} operations it is ${state}, and no order explains the next ones`,
    ...last.map(operation => `    before: ${describeOperation(operation)}`),
    ...next.map(operation => `    next:   ${describeOperation(operation)}`),
  ]
  return lines.join('\n')
}
