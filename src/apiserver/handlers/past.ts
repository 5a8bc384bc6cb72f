/** `?history=true` and `?at=` of get and list: earlier versions of objects, from the history. */
import { badRequest, notFound } from '#/api/errors.ts'
import { encodedObject } from '#/api/encoded-object.ts'
import { quote } from '#/api/text/quote.ts'
import { parseTime } from '#/api/text/time.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import { listBody } from '../list-body.ts'
import { objectBody } from '../object-body.ts'
import type { ObjectHistory, ObjectVersion } from '../object-history.ts'
import { readObject, readObjects } from '../registry/convert-objects.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { prefixOf } from '../registry/store-keys.ts'
import { isTrue } from '../request-info.ts'
import type { ApiResponse } from '../request.ts'
import { valueBody } from '../view.ts'
import { keyOfScope, subjectOf, type RequestScope } from './request-scope.ts'
import { readSelection } from './selection.ts'
import { waitUntilFresh } from './wait-until-fresh.ts'

export function isOfPast({ context }: RequestScope): boolean {
  const { query } = context.request
  return query.has('at') || isTrue(query.get('history'))
}

export async function getPast(scope: RequestScope): Promise<ApiResponse> {
  const { query } = scope.context.request
  if (!query.has('at')) return getHistory(scope)
  if (query.has('history')) throw badRequest('history and at are mutually exclusive')
  const { history, revision } = await readMoment(scope)
  const stored = await history.at(keyOfScope(scope), revision)
  // Afterwards, because the retention may end while the log is read.
  await history.requireRetained(revision)
  if (stored === undefined || stored.revision < (await firstRevision(scope, history)))
    throw notFound(subjectOf(scope))
  return { status: 200, body: await objectBody(scope.view, stored, scope) }
}

export async function listPast(scope: RequestScope): Promise<ApiResponse> {
  const { context, resource, view, info } = scope
  if (!context.request.query.has('at'))
    throw badRequest('history is served for one object: its name is missing')
  if (context.request.query.has('continue')) throw badRequest('at: such a list has no further pages')
  const { history, revision } = await readMoment(scope)
  const found = await history.listAt(prefixOf(resource, info.namespace), revision)
  await history.requireRetained(revision)
  if (found.unreadable > 0) context.warnings.add(`${found.unreadable} objects cannot be decrypted`)
  const first = await firstRevision(scope, history)
  const objects = await select(
    scope,
    found.objects.filter(stored => stored.revision >= first),
  )
  return {
    status: 200,
    body: listBody(view, { objects, meta: { resourceVersion: String(revision) } }, scope),
  }
}

async function select(
  scope: RequestScope,
  stored: readonly StoredObject[],
): Promise<readonly StoredObject[]> {
  const { resource, registry } = scope
  const selection = readSelection(scope)
  const read = await readObjects(resource, stored)
  if (selection.isAll) return read
  const slices = new TimeSlices(registry.platform.clock, 'select past objects')
  const selected: StoredObject[] = []
  for (const each of read) {
    const pause = slices.pause()
    if (pause) await pause
    if (selection.matches(each)) selected.push(each)
  }
  return selected
}

/** The history and the revision that `at` means. The cache has the revision. */
async function readMoment(
  scope: RequestScope,
): Promise<{ readonly history: ObjectHistory; readonly revision: number }> {
  const { query, signal } = scope.context.request
  const history = requireHistory(scope)
  const text = query.get('at') ?? ''
  if (query.has('resourceVersion')) throw badRequest('at and resourceVersion are mutually exclusive')
  if (/^[1-9]\d{0,15}$/.test(text)) {
    const revision = Number(text)
    await waitUntilFresh(scope, revision)
    await history.requireRetained(revision)
    return { history, revision }
  }
  const timeMs = parseTime(text)
  if (timeMs === undefined) {
    const wanted = 'must be a resource version or a time such as 2026-05-04T03:02:01Z'
    throw badRequest(`at: invalid value ${quote(text.slice(0, 100))}: ${wanted}`)
  }
  const current = await history.currentRevision(signal)
  const isNow = timeMs >= scope.registry.platform.clock.now()
  return { history, revision: isNow ? current : await history.revisionAt(timeMs) }
}

function requireHistory({ registry: { history }, resource }: RequestScope): ObjectHistory {
  if (history === undefined) throw badRequest(noHistory)
  history.requireRecorded(resource)
  return history
}

export const noHistory = 'no history is kept: --history-max-age of the API server is 0'

function firstRevision({ context, resource, info }: RequestScope, history: ObjectHistory): Promise<number> {
  return history.accessOf(context.user).firstRevision(resource, info.namespace)
}

async function getHistory(scope: RequestScope): Promise<ApiResponse> {
  const { context, view } = scope
  const { query, signal } = context.request
  const history = requireHistory(scope)
  const limit = Math.min(wholeNumber(query, 'limit') || versionsUsual, versionsMax)
  const before = wholeNumber(query, 'before')
  await history.currentRevision(signal)
  const retained = await history.retainedSince()
  const { items, next } = await readVersions(scope, history, {
    limit,
    before,
    retained: retained.revision,
  })
  if (items.length === 0 && before === undefined) throw notFound(subjectOf(scope))
  const value = {
    kind: 'ObjectHistory',
    apiVersion: 'k8ts.io/v1alpha1',
    metadata: next === undefined ? {} : { continue: String(next) },
    retainedSince: { revision: retained.revision, time: formatMoment(retained.timeMs) },
    items,
  }
  const { format, pretty } = view.negotiated
  return { status: 200, body: valueBody(value, { format: format === 'protobuf' ? 'json' : format, pretty }) }
}

interface VersionRange {
  readonly limit: number
  readonly before: number | undefined
  /** Revision from which on no version is missing. */
  readonly retained: number
}

/** `next` is the value of `before` for the versions that follow. */
async function readVersions(
  scope: RequestScope,
  history: ObjectHistory,
  range: VersionRange,
): Promise<{ readonly items: readonly object[]; readonly next?: number }> {
  const first = await firstRevision(scope, history)
  const items: object[] = []
  let oldest: ObjectVersion | undefined
  let sizeBytes = 0
  for await (const version of knownVersions(scope, history, range)) {
    if (version.revision < first) break
    if (items.length === range.limit || sizeBytes > historyBytesMax)
      return { items, ...(oldest && { next: oldest.revision }) }
    items.push(await itemOf(scope, version))
    oldest = version
    sizeBytes += version.stored?.sizeBytes ?? 0
  }
  return { items }
}

/**
 * Newest first: the recorded versions, and the one that was current when recording began. There are recorded ones
 * before it if recording was interrupted.
 */
async function* knownVersions(
  scope: RequestScope,
  history: ObjectHistory,
  { limit, before = Infinity, retained }: VersionRange,
): AsyncGenerator<ObjectVersion, void, undefined> {
  const range = { limit: limit + 1, ...(before !== Infinity && { beforeRevision: before }) }
  let last: ObjectVersion | undefined
  for await (const version of history.versions(keyOfScope(scope), range)) {
    if (version.revision <= retained && (last?.revision ?? Infinity) > retained) {
      const unrecorded = await unrecordedVersion(scope, history, retained)
      if (unrecorded && unrecorded.revision > version.revision && unrecorded.revision < before)
        yield isSameObject(unrecorded, version) ? { ...unrecorded, type: 'MODIFIED' } : unrecorded
    }
    yield version
    last = version
  }
  if (last?.type === 'ADDED' || (last && last.revision <= retained)) return
  const unrecorded = await unrecordedVersion(scope, history, retained)
  if (unrecorded && unrecorded.revision < before) yield unrecorded
}

/** The version that was current when recording began. Its time is that of its last managed change. */
async function unrecordedVersion(
  scope: RequestScope,
  history: ObjectHistory,
  retained: number,
): Promise<ObjectVersion | undefined> {
  const stored = await history.at(keyOfScope(scope), retained)
  if (stored === undefined) return undefined
  const { creationTimestamp, managedFields = [] } = stored.peek().metadata
  const times = [creationTimestamp, ...managedFields.map(({ time }) => time)]
  const timesMs = times.map(time => parseTime(time ?? '') ?? 0)
  const timeMs = Math.max(...timesMs)
  const type = timeMs === timesMs[0] ? 'ADDED' : 'MODIFIED'
  return { revision: stored.revision, timeMs, type, origin: undefined, stored }
}

function isSameObject(one: ObjectVersion, other: ObjectVersion): boolean {
  if (one.stored === undefined || other.stored === undefined) return false
  return one.stored.peek().metadata.uid === other.stored.peek().metadata.uid
}

async function itemOf(
  { resource, view }: RequestScope,
  { revision, timeMs, type, origin, stored }: ObjectVersion,
): Promise<object> {
  return {
    revision,
    time: formatMoment(timeMs),
    type,
    ...(origin && { origin }),
    ...(stored && { object: encodedObject(view.value(await readObject(resource, stored))) }),
  }
}

export function formatMoment(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** Undefined when absent. Throws ApiError 400. */
export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw badRequest(`${name}: invalid value ${quote(text.slice(0, 100))}: must be a whole number`)
}

const versionsUsual = 100
const versionsMax = 500

/** Bound on the versions of one response. */
const historyBytesMax = 8 * 1024 * 1024
