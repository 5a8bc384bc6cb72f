/**
 * Checks that use the revisions of a history directly: they are exact, fast, and say which record is wrong. The search
 * for a linearization finds what is left.
 */
import {
  describeOperation,
  describeVersion,
  type EpochRecord,
  type HistoryRecord,
  type Listing,
  type Objects,
  type Operation,
  type Version,
} from './history.ts'
import type { LoggedWrite, RevisionLog } from './revision-log.ts'

/** One line for each violation. */
export function checkRevisions(history: readonly HistoryRecord[], log: RevisionLog): string[] {
  const operations = history.filter(record => record.type === 'operation')
  const listings = history.filter(record => record.type === 'list')
  const answered = operations.filter(({ returnMs }) => returnMs > log.epochs.last.startMs)
  return [
    ...log.contradictions,
    ...checkValues(operations, log),
    ...checkRealTime(operations, listings),
    ...listings.flatMap(listing => checkListing(listing, log)),
    ...listings.filter(({ isFinal }) => isFinal).flatMap(final => checkFinal(final, answered)),
    ...log.epochs.all.flatMap(({ record }) => (record ? checkEpoch(record, operations, log) : [])),
    ...checkInformers(history),
  ]
}

/** Nothing is lost that is not reported as lost, and no revision is given again. */
function checkEpoch(record: EpochRecord, operations: readonly Operation[], log: RevisionLog): string[] {
  const { startMs, revision, objects, lost, snapshotRevision } = record
  const { all } = log.epochs
  const before = all[all.findIndex(epoch => epoch.record === record) - 1]!
  const isLost = (operation: Operation): boolean =>
    lost.some(({ after, last }) => after < revisionOf(operation) && revisionOf(operation) <= last)
  const earlier = operations.filter(({ callMs, returnMs, outcome }) => {
    return returnMs < startMs || (outcome.type === 'unknown' && callMs < startMs)
  })
  const again = earlier.filter(each => revisionOf(each) > revision)
  const kept = earlier.filter(each => each.returnMs > before.startMs && !isLost(each))
  const name = `the store that continues at ${revision}`
  const losses = [...Map.groupBy(kept, ({ key }) => key)].flatMap(([key, ofKey]) => {
    const version = Object.hasOwn(objects, key) ? objects[key] : undefined
    return version === undefined ? checkAbsent(key, ofKey) : checkNewest(key, version, ofKey)
  })
  const restored: Listing[] =
    snapshotRevision === undefined
      ? []
      : [
          {
            type: 'list',
            client: 'the snapshot',
            match: 'any',
            callMs: startMs,
            returnMs: startMs,
            revision: snapshotRevision,
            objects,
          },
        ]
  return [
    ...again.map(each => `${name} gives revisions again: ${describeOperation(each)}`),
    ...losses.map(each => `${name} has less than is reported: ${each}`),
    ...restored.flatMap(listing => checkListing(listing, log)),
  ]
}

/** No value is read that no operation wrote, and none of an operation that failed. */
function checkValues(operations: readonly Operation[], log: RevisionLog): string[] {
  const violations: string[] = []
  const writers = new Map<string, Operation>()
  for (const operation of operations) {
    const { verb, key, value, outcome } = operation
    if (value === undefined) continue
    writers.set(`${key} ${value}`, operation)
    if (verb !== 'get' && outcome.type === 'ok' && outcome.version?.value !== value) {
      violations.push(`the response has another value than the request: ${describeOperation(operation)}`)
    }
  }
  for (const { key, value, revision, source } of log.all()) {
    if (value === undefined) continue
    const writer = writers.get(`${key} ${value}`)
    const where = `${key} has ${value} at ${revision}, seen by ${source}`
    if (writer === undefined) violations.push(`dirty read: no operation wrote what is read: ${where}`)
    else if (writer.outcome.type === 'failed') {
      violations.push(`dirty read: ${where}, but the write failed: ${describeOperation(writer)}`)
    }
  }
  return violations
}

/** A write or consistent list has a higher revision than all writes that were acknowledged before its call. */
function checkRealTime(operations: readonly Operation[], listings: readonly Listing[]): string[] {
  const writes = operations.flatMap(operation => {
    const { verb, outcome, client, callMs, returnMs } = operation
    if (verb === 'get' || outcome.type !== 'ok' || outcome.version === undefined) return []
    const { revision } = outcome.version
    return [{ callMs, returnMs, revision, least: 1, what: `${client}: ${verb} ${operation.key}` }]
  })
  const lists = listings
    .filter(({ match }) => match === 'consistent')
    .map(({ callMs, returnMs, revision, client }) => {
      return { callMs, returnMs, revision, least: 0, what: `${client}: list` }
    })
  const byReturn = writes.toSorted((left, right) => left.returnMs - right.returnMs)
  const violations: string[] = []
  let acknowledged: (typeof writes)[number] | undefined
  let next = 0
  for (const each of [...writes, ...lists].sort((left, right) => left.callMs - right.callMs)) {
    for (; next < byReturn.length && byReturn[next]!.returnMs < each.callMs; next++) {
      if (byReturn[next]!.revision > (acknowledged?.revision ?? 0)) acknowledged = byReturn[next]
    }
    if (acknowledged === undefined || each.revision >= acknowledged.revision + each.least) continue
    const earlier = `${acknowledged.what} was acknowledged with revision ${acknowledged.revision}`
    violations.push(`revisions contradict real time: ${earlier}, then ${each.what} has ${each.revision}`)
  }
  return violations
}

function checkListing(listing: Listing, log: RevisionLog): string[] {
  const { match, requestedRevision = 0, revision, objects, client } = listing
  const violations: string[] = []
  const name = `list of ${client} at ${revision}`
  if (match === 'exact' && revision !== requestedRevision) {
    violations.push(`${name} is not at the requested revision ${requestedRevision}`)
  }
  if (match === 'not-older-than' && revision < requestedRevision) {
    violations.push(`${name} is older than the requested revision ${requestedRevision}`)
  }
  for (const key of log.keys()) {
    const version = Object.hasOwn(objects, key) ? objects[key] : undefined
    const known = log.lastOf(key, revision)
    if (isSnapshot(version, known, log.isCovered(known?.revision ?? 0, revision))) continue
    const expected = describeVersion(versionOf(known))
    violations.push(`${name} has ${key} ${describeVersion(version)}, but it was ${expected}`)
  }
  return violations
}

/** An unknown deletion explains an absent object, unless a watch has shown that there was none. */
function isSnapshot(
  version: Version | undefined,
  known: LoggedWrite | undefined,
  isCovered: boolean,
): boolean {
  const expected = versionOf(known)
  if (version === undefined) return expected === undefined || !isCovered
  return expected?.revision === version.revision && expected.value === version.value
}

function versionOf(write: LoggedWrite | undefined): Version | undefined {
  return write?.value === undefined ? undefined : { value: write.value, revision: write.revision }
}

/** The last acknowledged writes and deletions of each object are in the final list. */
function checkFinal(final: Listing, operations: readonly Operation[]): string[] {
  return [...Map.groupBy(operations, ({ key }) => key)].flatMap(([key, ofKey]) => {
    const version = Object.hasOwn(final.objects, key) ? final.objects[key] : undefined
    return version === undefined ? checkAbsent(key, ofKey) : checkPresent(key, version, ofKey)
  })
}

function checkAbsent(key: string, operations: readonly Operation[]): string[] {
  const last = lastAcknowledged(operations)
  if (last === undefined) return []
  const isDeleted = operations.some(
    ({ verb, outcome, returnMs }) =>
      verb === 'delete' &&
      outcome.type !== 'failed' &&
      (outcome.type === 'unknown' || returnMs >= last.callMs),
  )
  return isDeleted
    ? []
    : [`acknowledged write is lost: ${key} is absent at the end: ${describeOperation(last)}`]
}

function checkNewest(key: string, version: Version, operations: readonly Operation[]): string[] {
  const last = lastAcknowledged(operations)
  if (last === undefined || revisionOf(last) <= version.revision) return []
  const end = `${key} is ${describeVersion(version)} at the end`
  return [`acknowledged write is lost: ${end}: ${describeOperation(last)}`]
}

function checkPresent(key: string, version: Version, operations: readonly Operation[]): string[] {
  const violations = checkNewest(key, version, operations)
  const writer = operations.find(({ value }) => value === version.value)
  const deletion = operations.find(
    ({ verb, outcome, callMs }) =>
      verb === 'delete' && outcome.type === 'ok' && isAcknowledged(writer) && callMs > writer.returnMs,
  )
  if (deletion !== undefined) {
    const what = `${key} ${describeVersion(version)}`
    violations.push(`deleted object is present: ${what} at the end: ${describeOperation(deletion)}`)
  }
  return violations
}

function lastAcknowledged(operations: readonly Operation[]): Operation | undefined {
  const writes = operations.filter(operation => operation.verb !== 'get' && revisionOf(operation) > 0)
  return writes.reduce<Operation | undefined>(
    (last, each) => (last === undefined || revisionOf(each) > revisionOf(last) ? each : last),
    undefined,
  )
}

function isAcknowledged(operation: Operation | undefined): operation is Operation {
  return operation !== undefined && revisionOf(operation) > 0
}

function revisionOf({ outcome }: Operation): number {
  return outcome.type === 'ok' ? (outcome.version?.revision ?? 0) : 0
}

/** At rest every informer has what the server has. */
function checkInformers(history: readonly HistoryRecord[]): string[] {
  const final = history.find(record => record.type === 'list' && record.isFinal)
  if (final?.type !== 'list') return []
  return history.flatMap(record => {
    if (record.type !== 'informer') return []
    return differences(record.objects, final.objects).map(each => `informer ${record.client}: ${each}`)
  })
}

function differences(objects: Objects, expected: Objects): string[] {
  const keys = new Set([...Object.keys(objects), ...Object.keys(expected)])
  return [...keys].flatMap(key => {
    const [has, wants] = [describeVersion(objects[key]), describeVersion(expected[key])]
    return has === wants ? [] : [`${key} is ${has}, on the server ${wants}`]
  })
}
