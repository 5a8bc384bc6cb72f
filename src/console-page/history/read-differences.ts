import type { WriteRecord, WrittenObject } from '#/api/write-record.ts'
import { addWrite, positionOf, type ChangedObject, type Interval } from '#/history/changed-objects.ts'
import { momentParameter, type Moment } from '#/history/moment.ts'
import { diffStates, type ObjectDiff } from '#/history/object-diff.ts'
import { ApiError } from '../data/api-error.ts'
import { getJson } from '../data/api-request.ts'
import { streamWrites } from './stream-writes.ts'
import { isOfInterest } from './use-changes.ts'

export interface DifferencesQuery {
  readonly from: Moment
  /** Now if it is undefined. */
  readonly to: Moment | undefined
  /** Empty for all. */
  readonly namespace: string
  readonly specOnly: boolean
  readonly signal: AbortSignal
}

export interface Differences extends Interval {
  readonly diffs: readonly ObjectDiff[]
  /** Objects that changed and are not compared, because there are too many. */
  readonly left: number
  /** Start of the history, RFC 3339, if it is later than the start that was asked for. */
  readonly sinceTime: string | undefined
  /** Time of the last write that was read, RFC 3339, if there are too many to read all. */
  readonly readUntil: string | undefined
}

const objectsMax = 300
export const writesMax = 50_000
const concurrentReads = 4

type JsonObject = NonNullable<Parameters<typeof diffStates>[1]['before']>

/** The objects that differ between two moments, by namespace, kind and name. */
export async function readDifferences(query: DifferencesQuery): Promise<Differences> {
  const { interval, sinceTime, readUntil, changed } = await readChanged(query)
  const compared = changed.slice(0, objectsMax)
  const diffs: ObjectDiff[] = []
  const pending = compared.values()
  const work = async (): Promise<void> => {
    for (const each of pending) {
      const diff = await compare(each, { ...interval, ...query, to: interval.to })
      if (diff) diffs.push(diff)
    }
  }
  await Promise.all(Array.from({ length: concurrentReads }, work))
  diffs.sort((left, right) => (sortKey(left.object) < sortKey(right.object) ? -1 : 1))
  return { ...interval, diffs, sinceTime, readUntil, left: changed.length - compared.length }
}

interface ChangedInInterval extends Pick<Differences, 'sinceTime' | 'readUntil'> {
  readonly interval: Interval
  readonly changed: readonly ChangedObject[]
}

async function readChanged({ from, to, namespace, signal }: DifferencesQuery): Promise<ChangedInInterval> {
  const changed = new Map<string, ChangedObject>()
  let interval: Interval | undefined
  let sinceTime: string | undefined
  let writesRead = 0
  let lastRead: WriteRecord | undefined
  const query = from.type === 'revision' ? { after: from.revision } : { sinceMs: from.timeMs }
  for await (const batch of streamWrites({ ...query, namespace, limit: writesMax, signal })) {
    if ('header' in batch) {
      const { revision, retainedSince } = batch.header
      const isKept =
        from.type === 'revision'
          ? from.revision >= retainedSince.revision
          : from.timeMs >= Date.parse(retainedSince.time)
      // An earlier start is that of the history.
      const start = isKept ? from : ({ type: 'revision', revision: retainedSince.revision } as const)
      interval = { from: start, to: to ?? { type: 'revision', revision } }
      sinceTime = isKept ? undefined : retainedSince.time
      continue
    }
    if (interval === undefined) break
    writesRead += batch.writes.length
    lastRead = batch.writes.at(-1)
    for (const write of batch.writes) {
      if (positionOf(write, interval) === 'within' && isOfInterest(write)) addWrite(changed, write)
    }
  }
  signal.throwIfAborted()
  if (interval === undefined) throw new ApiError({ status: 404, message: 'The server keeps no history.' })
  if (lastRead === undefined || writesRead < writesMax || positionOf(lastRead, interval) === 'after') {
    return { interval, sinceTime, readUntil: undefined, changed: [...changed.values()] }
  }
  return {
    // Writes after the last one that was read are unknown, so the states are compared at that one.
    interval: { ...interval, to: { type: 'revision', revision: lastRead.revision } },
    sinceTime,
    readUntil: new Date(lastRead.timeMs).toISOString(),
    changed: [...changed.values()],
  }
}

type CompareOptions = Interval & Pick<DifferencesQuery, 'specOnly' | 'signal'>

/** What the types of the writes say is not read. */
async function compare(
  changed: ChangedObject,
  { from, to, specOnly, signal }: CompareOptions,
): Promise<ObjectDiff | undefined> {
  const { object, first, last } = changed
  const [before, after] = await Promise.all([
    first === 'ADDED' ? undefined : readAt(object, from, signal),
    last === 'DELETED' ? undefined : readAt(object, to, signal),
  ])
  return diffStates(changed, { before, after }, { specOnly })
}

async function readAt(
  object: WrittenObject,
  at: Moment,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const { apiVersion, resource, namespace, name } = object
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const within = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const path = `${root}${within}/${resource}/${encodeURIComponent(name)}`
  try {
    return await getJson<JsonObject>(`${path}?at=${encodeURIComponent(momentParameter(at))}`, { signal })
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

function sortKey({ namespace = '', kind, name }: WrittenObject): string {
  return [namespace, kind, name].join('\0')
}
