import type { Resource } from '#/api/resource.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { isApiError } from '#/api/errors.ts'
import { selfSubjectAccessReviews } from '#/api/generated/authorization/v1-resources.ts'
import type { WrittenObject } from '#/api/write-record.ts'
import type { Client } from '#/client/client.ts'
import { listWrites } from '#/client/list-writes.ts'
import { resourcePath } from '#/client/resource-path.ts'
import { addWrite, positionOf, type ChangedObject, type Interval } from '#/history/changed-objects.ts'
import { formatMoment, type Moment } from '#/history/moment.ts'
import { diffStates, type ObjectDiff } from '#/history/object-diff.ts'
import { describeExpired, readAt } from './read-history.ts'

export interface DiffQuery {
  readonly from: Moment
  /** The current state if it is absent. */
  readonly to: Moment | undefined
  /** All namespaces and cluster-scoped objects if it is absent. */
  readonly namespace: string | undefined
  readonly resource: Resource | undefined
  readonly name: string | undefined
  readonly specOnly: boolean
}

export interface ObjectDiffList extends Interval {
  readonly diffs: readonly ObjectDiff[]
  /** False if there may be objects that the user may not get. */
  readonly isComplete: boolean
}

/** More are an error, not an incomplete answer. */
const objectsMax = 20_000

const concurrentReads = 8

/**
 * The objects that differ between the moments, in the order of namespace, kind and name. Throws ApiError `Forbidden` if
 * none of the chosen kind may be read.
 */
export async function readObjectDiffs(client: Client, query: DiffQuery): Promise<ObjectDiffList> {
  const { interval, changed } = await readChanged(client, query)
  const diffs: ObjectDiff[] = []
  const pending = [...changed].values()
  const work = async (): Promise<void> => {
    for (const each of pending) {
      const diff = await readDiff(client, each, { ...query, ...interval })
      if (diff !== undefined) diffs.push(diff)
    }
  }
  await Promise.all(Array.from({ length: concurrentReads }, work))
  if (diffs.length === 0) await requireReadable(client, query)
  const sorted = diffs.toSorted((a, b) => (sortKey(a.object) < sortKey(b.object) ? -1 : 1))
  return { ...interval, diffs: sorted, isComplete: await mayReadAll(client, query) }
}

/** Otherwise that nothing may be read would look like that nothing has changed. */
async function requireReadable(client: Client, { resource, namespace, name }: DiffQuery): Promise<void> {
  if (resource === undefined) return
  const path = resourcePath(resource, {
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && (namespace !== undefined || resource.scope === 'Cluster') && { name }),
  })
  try {
    await (await client.raw({ method: 'GET', path, query: new URLSearchParams({ limit: '1' }) })).value()
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

async function mayReadAll(client: Client, { resource, namespace, name }: DiffQuery): Promise<boolean> {
  const resourceAttributes = {
    verb: 'get',
    group: resource === undefined ? '*' : resource.group,
    resource: resource === undefined ? '*' : resource.plural,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  }
  const review = await client.create(selfSubjectAccessReviews, {
    metadata: {},
    spec: { resourceAttributes },
  })
  return review.status?.allowed ?? false
}

interface ChangedInInterval {
  readonly interval: Interval
  readonly changed: readonly ChangedObject[]
}

async function readChanged(client: Client, query: DiffQuery): Promise<ChangedInInterval> {
  const { from, to: given, namespace } = query
  const list = await listWrites(client, {
    ...(from.type === 'revision' ? { after: from.revision } : { sinceMs: from.timeMs }),
    ...(given?.type === 'revision' && { until: given.revision }),
    ...(namespace !== undefined && { namespace }),
  }).catch(error => Promise.reject(describeExpired(error, from)))
  const { revision, time } = list.retainedSince
  const isKept = from.type === 'revision' ? from.revision >= revision : from.timeMs >= Date.parse(time)
  const interval = { from, to: given ?? ({ type: 'revision', revision: list.revision } as const) }
  const changed = new Map<string, ChangedObject>()
  for await (const write of list.writes) {
    const position = positionOf(write, interval)
    if (!isKept || position === 'after') break
    if (position === 'before' || !isSelected(write.object, query)) continue
    addWrite(changed, write)
    if (changed.size > objectsMax) {
      throw new Error(
        `more than ${objectsMax} objects have changed: choose a namespace, a kind or a shorter time`,
      )
    }
  }
  if (isKept) return { interval, changed: [...changed.values()] }
  const start = `the history begins at revision ${revision}, ${time}`
  throw new Error(`${formatMoment(from)} is no longer kept: ${start}: choose a later moment`)
}

function isSelected(object: WrittenObject, { resource, name }: DiffQuery): boolean {
  if (name !== undefined && object.name !== name) return false
  if (resource === undefined) return true
  return object.resource === resource.plural && parseGroupVersion(object.apiVersion)?.group === resource.group
}

/** What the types of the writes say is not read. */
async function readDiff(
  client: Client,
  changed: ChangedObject,
  { from, to, specOnly }: Interval & Pick<DiffQuery, 'specOnly'>,
): Promise<ObjectDiff | undefined> {
  const { object, first, last } = changed
  const groupVersion = parseGroupVersion(object.apiVersion)
  if (groupVersion === undefined) return undefined
  const { namespace, name, resource: plural } = object
  const path = resourcePath(
    { ...groupVersion, plural, scope: namespace ? 'Namespaced' : 'Cluster' },
    { name, ...(namespace && { namespace }) },
  )
  try {
    const [before, after] = await Promise.all([
      first === 'ADDED' ? undefined : readAt(client, path, from),
      last === 'DELETED' ? undefined : readAt(client, path, to),
    ])
    return diffStates(changed, { before, after }, { specOnly })
  } catch (error) {
    // Rights may have changed since the writes were listed.
    if (isApiError(error, 'Forbidden')) return undefined
    throw error
  }
}

function sortKey({ namespace = '', kind, name }: WrittenObject): string {
  return [namespace, kind, name].join('\0')
}
