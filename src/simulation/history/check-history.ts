/** Checks a whole history: revisions, watches, and linearizability for each object. */
import { checkRevisions } from './check-revisions.ts'
import { checkWatches } from './check-watches.ts'
import type { Epoch, Epochs } from './epochs.ts'
import {
  describeOperation,
  type HistoryRecord,
  type Operation,
  type Outcome,
  type Version,
} from './history.ts'
import { linearize, type SearchBounds, type Stuck, type TimedOperation } from './linearizability.ts'
import { objectModelOf, type PlacedOperation } from './object-model.ts'
import { RevisionLog } from './revision-log.ts'
import { WriteOrder } from './write-order.ts'

export interface Verdict {
  /** One line or more for each. */
  readonly violations: readonly string[]
  /** Objects for which the search for a linearization reached its bounds. */
  readonly undecided: readonly string[]
}

export function checkHistory(history: readonly HistoryRecord[], bounds?: SearchBounds): Verdict {
  const log = new RevisionLog(history)
  const reported = history.flatMap(record => (record.type === 'violation' ? [record.text] : []))
  const violations = [...reported, ...checkRevisions(history, log), ...checkWatches(history, log)]
  const undecided = new Set<string>()
  for (const [{ revision, objects }, byKey] of operationsByEpoch(history, log)) {
    for (const [key, operations] of byKey) {
      const version = Object.hasOwn(objects, key) ? objects[key] : undefined
      const model = objectModelOf(after => log.writesAfter(key, after), { version, revision })
      const result = linearize(model, operations, bounds)
      if (result.type === 'violation') violations.push(describeStuck(key, result.stuck))
      if (result.type === 'undecided') undecided.add(key)
    }
  }
  return { violations, undecided: [...undecided] }
}

type OperationsByKey = Map<string, TimedOperation<PlacedOperation>[]>

/**
 * Operations on different objects are independent, so that each object is checked alone (locality of
 * linearizability). A consistent list is a read of every object.
 */
function operationsByEpoch(
  history: readonly HistoryRecord[],
  log: RevisionLog,
): ReadonlyMap<Epoch, OperationsByKey> {
  const { epochs } = log
  const byEpoch = new Map<Epoch, OperationsByKey>(epochs.all.map(epoch => [epoch, new Map()]))
  const order = new WriteOrder(history, log)
  const keys = new Set<string>()
  for (const record of history) {
    if (record.type !== 'operation' || record.isStale) continue
    keys.add(record.key)
    for (const timed of timedOperations(record, log, order)) {
      for (const epoch of epochsOf(timed, epochs)) {
        const byKey = byEpoch.get(epoch)!
        byKey.getOrInsertComputed(record.key, () => []).push(timed)
      }
    }
  }
  for (const record of history) {
    if (record.type !== 'list' || record.match !== 'consistent') continue
    const { client, callMs, returnMs, revision, objects } = record
    const revisionBelow = Math.min(revision + 1, order.revisionBelow(returnMs))
    const byKey = byEpoch.get(epochs.ofReturn(returnMs))!
    for (const key of keys) {
      const version = Object.hasOwn(objects, key) ? objects[key] : undefined
      const read = readOperation({ client: `${client} (list)`, key, callMs, returnMs }, version)
      const operation = { ...read, revisionBelow, listRevision: revision }
      byKey.getOrInsertComputed(key, () => []).push({ operation, callMs, returnMs, isOptional: false })
    }
  }
  return byEpoch
}

function epochsOf({ operation, isOptional }: TimedOperation<Operation>, epochs: Epochs): readonly Epoch[] {
  if (isOptional) return epochs.ofUnknown(operation)
  const { verb, outcome, returnMs } = operation
  const isWrite = verb !== 'get' && outcome.type === 'ok' && outcome.version !== undefined
  return [isWrite ? epochs.ofRevision(outcome.version.revision) : epochs.ofReturn(returnMs)]
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
 * None for an operation without information, two if there are two intervals in which it can have happened. A write of
 * unknown outcome that was seen has happened, with the revision at which it was seen. A deletion writes no value, so
 * that one of unknown outcome explains any later deletion of its object, also one that no other client has requested:
 * that is not detectable.
 */
function timedOperations(
  operation: Operation,
  log: RevisionLog,
  order: WriteOrder,
): readonly TimedOperation<PlacedOperation>[] {
  const { verb, key, value, outcome, callMs, returnMs } = operation
  if (outcome.type === 'failed' && outcome.reason === 'Rejected') return []
  if (outcome.type !== 'unknown') {
    const placed = { ...operation, revisionBelow: order.revisionBelow(returnMs) }
    return [{ operation: placed, callMs, returnMs, isOptional: false }]
  }
  if (verb === 'get') return []
  const seen = value === undefined ? undefined : log.ofValue(key, value)
  if (value === undefined || seen === undefined) {
    return order.intervalsOf(operation).map(interval => ({ operation, ...interval, isOptional: true }))
  }
  const version = { value, revision: seen.revision }
  const known: Operation = { ...operation, outcome: { type: 'ok', version } }
  return [{ operation: known, callMs, returnMs: Infinity, isOptional: false }]
}

function describeStuck(key: string, { length, last, state, next }: Stuck<PlacedOperation>): string {
  const lines = [
    `${key} is not linearizable: after ${length} operations it is ${state}, and no order explains the next ones`,
    ...last.map(operation => `    before: ${describeOperation(operation)}`),
    ...next.map(operation => `    next:   ${describeOperation(operation)}`),
  ]
  return lines.join('\n')
}
