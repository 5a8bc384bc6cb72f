/** Reads `GET /k8ts/writes` and the history of objects, which only API servers of k8ts keep. */
import { ApiError, isApiError, type Status } from '#/api/errors.ts'
import type { ObjectHistory, RetainedSince } from '#/api/object-history.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { RawClient } from './client.ts'
import { TransportError } from './transport.ts'

export class NoHistoryError extends Error {
  constructor(options?: ErrorOptions) {
    super('this server keeps no history (k8ts only)', options)
    this.name = 'NoHistoryError'
  }
}

export interface WritesQuery {
  /** Exclusive. */
  readonly after?: number
  /** Inclusive. */
  readonly until?: number
  readonly sinceMs?: number
  readonly namespace?: string
  readonly limit?: number
  /** Continues with writes as they happen. */
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

export interface WriteList {
  readonly retainedSince: RetainedSince
  /** The current revision. */
  readonly revision: number
  /** Oldest first. Must be iterated, or returned, to release the connection. */
  readonly writes: AsyncGenerator<WriteRecord, void, undefined>
}

/** Throws NoHistoryError. */
export async function listWrites(client: RawClient, query: WritesQuery): Promise<WriteList> {
  const values = valuesOf(client, query)
  const first = await values.next()
  if (first.done || !('retainedSince' in first.value)) throw new NoHistoryError()
  const { retainedSince, revision } = first.value
  return { retainedSince, revision, writes: values as AsyncGenerator<WriteRecord, void, undefined> }
}

type WritesHeader = Omit<WriteList, 'writes'>

async function* valuesOf(
  client: RawClient,
  query: WritesQuery,
): AsyncGenerator<WritesHeader | WriteRecord, void, undefined> {
  const { signal } = query
  const request = { method: 'GET', path: '/k8ts/writes', query: parametersOf(query), signal }
  try {
    const response = await client.raw(request)
    for await (const batch of response.events()) {
      for (const value of batch as readonly (WritesHeader | WriteRecord | Status)[]) {
        // A reader that is too slow to follow.
        if ('status' in value) throw new ApiError(value)
        yield value
      }
    }
  } catch (error) {
    if (isApiError(error, 'NotFound')) throw new NoHistoryError({ cause: error })
    throw error
  }
}

function parametersOf({ after, until, sinceMs, namespace, limit, follow }: WritesQuery): URLSearchParams {
  const since = sinceMs === undefined ? undefined : new Date(sinceMs).toISOString()
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ after, until, since, namespace, limit, follow })) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return parameters
}

export interface ObjectHistoryQuery {
  readonly limit: number
  /** Only versions of smaller revisions. */
  readonly before?: number
}

/** One page. Throws NoHistoryError, and ApiError `NotFound` if no version is kept. */
export async function readObjectHistory(
  client: RawClient,
  path: string,
  { limit, before }: ObjectHistoryQuery,
): Promise<ObjectHistory> {
  const query = new URLSearchParams({ history: 'true', limit: String(limit) })
  if (before !== undefined) query.set('before', String(before))
  const response = await client.raw({ method: 'GET', path, query })
  const value = await response.value()
  if (typeof value !== 'object' || value === null) {
    throw new TransportError('invalid-response', 'response is not an ObjectHistory')
  }
  // Other servers ignore the parameter.
  if ((value as Partial<ObjectHistory>).kind !== 'ObjectHistory') throw new NoHistoryError()
  return value as ObjectHistory
}
