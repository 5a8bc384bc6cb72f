/**
 * Checks the guarantees of watches: events are ordered by revision, unique and complete, bookmarks are truthful, a
 * watch that is resumed has no gap, and at rest every watcher has seen the last write.
 */
import type { HistoryRecord, WatchedEvent, WatchSession } from './history.ts'
import { firstIndexAfter, rangeOf, type LoggedWrite, type RevisionLog } from './revision-log.ts'

/** One line for each violation. */
export function checkWatches(history: readonly HistoryRecord[], log: RevisionLog): string[] {
  const sessions = history.filter(record => record.type === 'watch')
  const all = log.all()
  return [
    ...sessions.flatMap(session => [
      ...checkOrder(session),
      ...checkCompleteness(session, all),
      ...checkTypes(session, log),
      ...checkEpochs(session, log),
    ]),
    ...checkResumption(history),
    ...checkProgress(history, sessions),
  ]
}

function nameOf({ client, afterRevision }: WatchSession): string {
  return `watch of ${client} after ${afterRevision}`
}

/** The position of a watch never goes back, and no event is at or below it. */
function checkOrder(session: WatchSession): string[] {
  const violations: string[] = []
  let position: WatchedEvent = { type: 'BOOKMARK', revision: session.afterRevision }
  for (const event of session.events) {
    const isLater =
      event.type === 'BOOKMARK' ? event.revision >= position.revision : event.revision > position.revision
    if (!isLater) {
      const before = `${position.type} ${position.revision}`
      violations.push(`${nameOf(session)} is not in order: ${describeEvent(event)} after ${before}`)
    }
    if (event.revision > position.revision) position = event
  }
  return violations
}

function checkCompleteness(session: WatchSession, all: readonly LoggedWrite[]): string[] {
  const { after, last } = rangeOf(session)
  const seen = new Set(
    session.events.filter(({ type }) => type !== 'BOOKMARK').map(({ revision }) => revision),
  )
  return all
    .slice(firstIndexAfter(all, after), firstIndexAfter(all, last))
    .filter(({ revision }) => !seen.has(revision))
    .map(({ key, value, revision, source }) => {
      const missing = `${key} ${value ?? 'deleted'} at ${revision}, known from ${source}`
      return `${nameOf(session)} misses a write before its position ${last}: ${missing}`
    })
}

/** The first write of an object is ADDED, later ones are MODIFIED; DELETED has the last content. */
function checkTypes(session: WatchSession, log: RevisionLog): string[] {
  return session.events.flatMap(event => {
    if (event.type === 'BOOKMARK') return []
    const before = log.lastOf(event.key, event.revision - 1)
    if (before === undefined || !log.isCovered(before.revision, event.revision)) return []
    const isRight =
      event.type === 'ADDED'
        ? before.value === undefined
        : before.value !== undefined && (event.type === 'MODIFIED' || event.value === before.value)
    if (isRight) return []
    const state = before.value ?? 'deleted'
    return [
      `${nameOf(session)} has ${describeEvent(event)} of an object that was ${state} at ${before.revision}`,
    ]
  })
}

/** The server tells a watcher to list again when it may have lost writes that the watcher has seen. */
function checkEpochs(session: WatchSession, log: RevisionLog): string[] {
  const { after, last } = rangeOf(session)
  return log.epochs.all.flatMap(({ startMs, revision }) => {
    const isAcross = after < revision && last > revision
    const isAccepted = after < revision && session.callMs > startMs && session.end === 'closed'
    return isAcross || isAccepted
      ? [`${nameOf(session)} goes on after the store was replaced at ${revision}`]
      : []
  })
}

/** A watcher continues where it was or before, or after a list. */
function checkResumption(history: readonly HistoryRecord[]): string[] {
  const violations: string[] = []
  const positions = new Map<string, { readonly revision: number; readonly isExpired: boolean }>()
  for (const record of history) {
    if (record.type === 'list') positions.set(record.client, { revision: record.revision, isExpired: false })
    if (record.type !== 'watch') continue
    const { client, afterRevision, end } = record
    const { last } = rangeOf(record)
    const { revision = last, isExpired = false } = positions.get(client) ?? {}
    if (isExpired) violations.push(`${nameOf(record)} follows 410 without a list`)
    if (afterRevision > revision) violations.push(`${nameOf(record)} leaves out what follows ${revision}`)
    positions.set(client, { revision: Math.max(revision, last), isExpired: end === 'expired' })
  }
  return violations
}

/** Only in a history with an end. */
function checkProgress(history: readonly HistoryRecord[], sessions: readonly WatchSession[]): string[] {
  if (!history.some(record => record.type === 'list' && record.isFinal)) return []
  let last = 0
  for (const record of history) {
    if (record.type !== 'operation' || record.verb === 'get' || record.outcome.type !== 'ok') continue
    last = Math.max(last, record.outcome.version?.revision ?? 0)
  }
  return [...Map.groupBy(sessions, ({ client }) => client)].flatMap(([client, own]) => {
    const lists = history.filter(record => record.type === 'list' && record.client === client)
    const revisions = [...own.map(session => rangeOf(session).last), ...lists.map(revisionOfList)]
    const position = revisions.reduce((highest, each) => Math.max(highest, each), 0)
    return position >= last ? [] : [`watcher ${client} has not arrived at ${last}: it is at ${position}`]
  })
}

function revisionOfList(record: HistoryRecord): number {
  return record.type === 'list' ? record.revision : 0
}

function describeEvent(event: WatchedEvent): string {
  const { type, revision } = event
  return event.type === 'BOOKMARK'
    ? `${type} ${revision}`
    : `${type} ${revision} (${event.key} ${event.value})`
}
