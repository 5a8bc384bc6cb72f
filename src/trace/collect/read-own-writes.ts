import { isApiError } from '#/api/errors.ts'
import type { ObjectVersion } from '#/api/object-history.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { RawClient } from '#/client/client.ts'
import { readObjectHistory } from '#/client/list-writes.ts'
import { objectPath } from '#/client/resource-path.ts'
import type { TraceTarget } from '../trace.ts'

/** The part of a resource that its paths and kind are made of. */
export type TracedResource = Pick<Resource, 'group' | 'version' | 'kind' | 'plural' | 'singular' | 'scope'>

export interface TracedObject {
  readonly resource: TracedResource
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string | undefined
  readonly name: string
}

export function targetOf({ resource, namespace, name }: TracedObject): TraceTarget {
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    ...(namespace !== undefined && { namespace }),
    name,
  }
}

/** Versions are whole objects, of up to two megabytes. */
const pageSize = 50
const pagesMax = 10

/**
 * The writes of the object itself in the order of revisions, the latest few hundred; with a revision, from the latest
 * back to this one. Empty if none is recorded.
 */
export async function readOwnWrites(
  client: RawClient,
  object: TracedObject,
  {
    atRevision,
    signal,
  }: { readonly atRevision?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<readonly WriteRecord[]> {
  const { resource, namespace, name } = object
  const path = objectPath(resource, { namespace, name })
  const writes: WriteRecord[] = []
  let before: number | undefined = atRevision === undefined ? undefined : atRevision + 1
  for (let page = 0; page < pagesMax; page++) {
    signal?.throwIfAborted()
    const query = { limit: pageSize, ...(before !== undefined && { before }) }
    const items = await readObjectHistory(client, path, query).then(
      history => history.items,
      (error: unknown) => {
        if (isApiError(error, 'NotFound')) return []
        throw error
      },
    )
    writes.push(...items.map(item => writeOf(item, object)))
    before = items.at(-1)?.revision
    if (before === undefined || items.length < pageSize || items.some(({ type }) => type === 'ADDED')) break
  }
  return writes.toReversed()
}

function writeOf({ revision, time, type, origin, object }: ObjectVersion, traced: TracedObject): WriteRecord {
  const { resource, namespace, name } = traced
  const metadata = object?.['metadata']
  return {
    revision,
    timeMs: Date.parse(time),
    type,
    object: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      resource: resource.plural,
      ...(namespace !== undefined && { namespace }),
      name,
      uid: isRecord(metadata) && typeof metadata['uid'] === 'string' ? metadata['uid'] : '',
    },
    ...(origin && { origin }),
  }
}

function isRecord(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
