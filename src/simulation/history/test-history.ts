/**
 * Histories in a compact notation, one record in each line:
 *
 *     0-10 a create k v1 = 5               acknowledged with revision 5
 *     0-10 a update k v2 if 5 = Conflict   with a precondition; `= ?` is an unknown outcome
 *     0-10 a get k = v1@5
 *     0-10 a delete k = ok
 *     0-10 a list = 7: k=v1@5 m=v2@6       `list any`, `list exact 7`, `list not-older-than 7`, `final`
 *     0-10 w watch 4: ADDED k v1@5, BOOKMARK 9     with ` expired` at the end if it ended so
 *     informer i: k=v1@5
 *     epoch 20 = 1000: k=v1@5 lost 6-9     a repair before time 20; the store continues at 1000
 *     epoch 20 of 5 = 1000: k=v1@5 lost 6-1000     a snapshot of revision 5 was restored
 */
import assert from 'node:assert/strict'
import type {
  FailureReason,
  HistoryRecord,
  Listing,
  Objects,
  Outcome,
  RevisionRange,
  Verb,
  Version,
  WatchedEvent,
} from './history.ts'

export function historyOf(text: string): HistoryRecord[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .map(recordOf)
}

function recordOf(line: string): HistoryRecord {
  const informer = /^informer (\w+):(.*)$/.exec(line)
  if (informer) return { type: 'informer', client: informer[1]!, objects: objectsOf(informer[2]!) }
  const epoch = /^epoch (\d+)(?: of (\d+))? = (\d+):(.*?)(?: lost (.*))?$/.exec(line)
  if (epoch) {
    const [, start, snapshot, revision, objects = '', lost = ''] = epoch
    return {
      type: 'epoch',
      startMs: Number(start),
      revision: Number(revision),
      objects: objectsOf(objects),
      lost: words(lost, ',').map(rangeOf),
      ...(snapshot !== undefined && { snapshotRevision: Number(snapshot) }),
    }
  }
  const [, call, end, client = '', rest = ''] = /^(\d+)-(\d+) (\w+) (.*)$/.exec(line) ?? []
  assert.ok(call !== undefined && end !== undefined, line)
  const at = { client, callMs: Number(call), returnMs: Number(end) }
  const watch = /^watch (\d+):(.*?)( expired)?$/.exec(rest)
  if (watch) {
    const events = words(watch[2]!, ',').map(eventOf)
    const end = watch[3] ? 'expired' : 'closed'
    const { callMs, returnMs: endMs } = at
    return { type: 'watch', client, callMs, endMs, afterRevision: Number(watch[1]), end, events }
  }
  const list = /^(list|final)(?: ([a-z-]+))?(?: (\d+))? = (\d+):(.*)$/.exec(rest)
  if (list) {
    const [, verb, match = 'consistent', requested, revision, objects = ''] = list
    return {
      type: 'list',
      ...at,
      match: match as Listing['match'],
      ...(requested !== undefined && { requestedRevision: Number(requested) }),
      revision: Number(revision),
      objects: objectsOf(objects),
      ...(verb === 'final' && { isFinal: true }),
    }
  }
  const operation = /^([a-z]+) (\w+)(?: (\w+))?(?: if (\d+))? = (\S+)$/.exec(rest)
  assert.ok(operation, line)
  const [, verb, key = '', value, expected, outcome = ''] = operation
  return {
    type: 'operation',
    ...at,
    verb: verb as Verb,
    key,
    ...(value !== undefined && { value }),
    ...(expected !== undefined && { expectedRevision: Number(expected) }),
    outcome: outcomeOf(outcome, value),
  }
}

function rangeOf(text: string): RevisionRange {
  const [first, last] = text.split('-')
  return { after: Number(first) - 1, last: Number(last) }
}

function outcomeOf(text: string, value: string | undefined): Outcome {
  if (text === '?') return { type: 'unknown', reason: 'timeout' }
  if (text === 'ok') return { type: 'ok' }
  if (/^\d+$/.test(text)) return { type: 'ok', version: { value: value!, revision: Number(text) } }
  if (text.includes('@')) return { type: 'ok', version: versionOf(text) }
  return { type: 'failed', reason: text as FailureReason }
}

function eventOf(text: string): WatchedEvent {
  const [type, key = '', version = ''] = words(text, ' ')
  if (type === 'BOOKMARK') return { type, revision: Number(key) }
  return { type: type as 'ADDED', key, ...versionOf(version) }
}

function objectsOf(text: string): Objects {
  return Object.fromEntries(
    words(text, ' ').map(word => {
      const [key = '', version = ''] = word.split('=')
      return [key, versionOf(version)]
    }),
  )
}

function versionOf(text: string): Version {
  const [value = '', revision] = text.split('@')
  return { value, revision: Number(revision) }
}

function words(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map(word => word.trim())
    .filter(word => word !== '')
}
