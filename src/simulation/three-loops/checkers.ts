/** Pure checks: takes the observations of all participants and returns all inconsistencies. */
import type { NoteEvent } from './messages.ts'

export interface Observations {
  /** In the order in which each writer received the acknowledgments. */
  readonly acknowledged: Acknowledged[]
  /** Writes that lost a race (optimistic concurrency). */
  readonly rejected: { readonly writer: string; readonly key: string; readonly sequence: number }[]
  /** Reads, in order; revision 0 if the key did not exist. */
  readonly read: { readonly writer: string; readonly key: string; readonly revision: number }[]
  /** Events that the watcher received, in order. */
  readonly watched: NoteEvent[]
  /** The store's event log after its last restart. */
  readonly log: NoteEvent[]
  /** The store's contents after its last restart. */
  readonly state: { readonly key: string; readonly revision: number }[]
  /** Inconsistencies detected by a participant itself. */
  readonly oddities: string[]
}

export type Acknowledged = AcknowledgedPut | AcknowledgedDelete

interface AcknowledgedPut {
  readonly kind: 'put'
  readonly writer: string
  readonly key: string
  readonly sequence: number
  readonly revision: number
}

interface AcknowledgedDelete {
  readonly kind: 'delete'
  readonly writer: string
  readonly key: string
  /** Undefined if the key was found deleted and the revision of the deletion is unknown. */
  readonly revision?: number
}

export function noObservations(): Observations {
  return { acknowledged: [], rejected: [], read: [], watched: [], log: [], state: [], oddities: [] }
}

export function check(observations: Observations): string[] {
  return [
    ...observations.oddities,
    ...checkAcknowledged(observations),
    ...checkRejected(observations),
    ...checkRevisions(observations),
    ...checkReads(observations),
    ...checkWatched(observations),
    ...checkState(observations),
  ]
}

/** Every acknowledged write is in the log exactly once, at its revision. */
function checkAcknowledged({ acknowledged, log }: Observations): string[] {
  return acknowledged.flatMap(write => {
    const found = log.filter(event => isSame(event, write))
    if (found.length === 0) return [`acknowledged ${show(write)} is not there`]
    if (found.length > 1) return [`acknowledged ${show(write)} is there ${found.length} times`]
    const [event] = found
    if (write.revision === undefined || event?.revision === write.revision) return []
    return [`acknowledged ${show(write)} is there at ${event?.revision}`]
  })
}

/** A write that lost its race is not in the log. */
function checkRejected({ rejected, log }: Observations): string[] {
  return rejected
    .filter(write => log.some(event => isSame(event, { ...write, kind: 'put' })))
    .map(write => `rejected ${write.key} of ${write.writer} #${write.sequence} is there`)
}

/** Revisions are unique, and increase for each writer. */
function checkRevisions({ acknowledged, log }: Observations): string[] {
  const violations: string[] = []
  const owners = new Map<number, string>()
  const last = new Map<string, number>()
  for (const write of acknowledged) {
    if (write.revision === undefined) continue
    const owner = owners.get(write.revision)
    if (owner !== undefined) violations.push(`${owner} and ${show(write)} have the same revision`)
    owners.set(write.revision, show(write))
    const before = last.get(write.writer) ?? 0
    if (write.revision <= before) violations.push(`${show(write)} does not come after ${before}`)
    last.set(write.writer, write.revision)
  }
  return [...violations, ...outOfOrder(log).map(event => `the log has ${event.revision} out of order`)]
}

/**
 * A writer never reads a key at an earlier revision than before. The keys that are read are never deleted.
 */
function checkReads({ read }: Observations): string[] {
  const last = new Map<string, number>()
  return read.flatMap(({ writer, key, revision }) => {
    const before = last.get(`${writer} ${key}`) ?? 0
    last.set(`${writer} ${key}`, revision)
    return revision < before ? [`${writer} saw ${key} go back from ${before} to ${revision}`] : []
  })
}

/** The watcher saw every event of the log once and in order. */
function checkWatched({ watched, log }: Observations): string[] {
  const seen = new Set(watched.map(event => JSON.stringify(event)))
  const logged = new Set(log.map(event => JSON.stringify(event)))
  return [
    ...outOfOrder(watched).map(event => `the watcher saw ${event.revision} again or out of order`),
    ...[...logged.difference(seen)].map(event => `the watcher missed ${event}`),
    ...[...seen.difference(logged)].map(event => `the watcher saw what never happened: ${event}`),
  ]
}

/** The contents equal the result of replaying the log. */
function checkState({ state, log }: Observations): string[] {
  const expected = new Map<string, number>()
  for (const { kind, key, revision } of log) {
    if (kind === 'put') expected.set(key, revision)
    else expected.delete(key)
  }
  const actual = new Map(state.map(({ key, revision }) => [key, revision]))
  const at = (revisions: Map<string, number>, key: string): number | string => revisions.get(key) ?? 'nothing'
  return [...new Set([...expected.keys(), ...actual.keys()])]
    .sort()
    .filter(key => at(expected, key) !== at(actual, key))
    .map(key => `${key} is at ${at(actual, key)}, the log says ${at(expected, key)}`)
}

function outOfOrder(events: readonly NoteEvent[]): NoteEvent[] {
  return events.filter((event, index) => event.revision <= (events[index - 1]?.revision ?? 0))
}

type Write = { kind: 'put'; key: string; writer: string; sequence: number } | { kind: 'delete'; key: string }

function isSame(event: NoteEvent, write: Write): boolean {
  if (event.key !== write.key) return false
  if (event.kind === 'delete' || write.kind === 'delete') return event.kind === write.kind
  return event.writer === write.writer && event.sequence === write.sequence
}

function show(write: Acknowledged): string {
  const who = write.kind === 'put' ? `${write.writer} #${write.sequence}` : write.writer
  return `${write.kind} of ${write.key} by ${who} at ${write.revision ?? 'an unknown revision'}`
}
