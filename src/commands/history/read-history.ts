import { isApiError } from '#/api/errors.ts'
import type { ObjectVersion } from '#/api/object-history.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { UsageError } from '#/base/flags.ts'
import type { Client } from '#/client/client.ts'
import { readObjectHistory } from '#/client/list-writes.ts'
import type { VersionStep } from '#/history/describe-version.ts'
import { formatMoment, momentForms, momentParameter, parseMoment, type Moment } from '#/history/moment.ts'

/** Versions are whole objects, of up to two megabytes. */
const pageSize = 50

/** The versions of an object, newest first, each with the one before it. */
export async function* versionSteps(
  client: Client,
  path: string,
  limit: number,
): AsyncGenerator<VersionStep, void, undefined> {
  let newer: ObjectVersion | undefined
  for await (const version of versions(client, path, limit)) {
    if (newer !== undefined) yield { version: newer, previous: version }
    newer = version
  }
  if (newer !== undefined) yield { version: newer, previous: undefined }
}

async function* versions(
  client: Client,
  path: string,
  expected: number,
): AsyncGenerator<ObjectVersion, void, undefined> {
  const limit = Math.min(expected + 1, pageSize)
  let before: number | undefined
  do {
    const query = { limit, ...(before !== undefined && { before }) }
    const { items, metadata } = await readObjectHistory(client, path, query)
    yield* items
    before = Number(metadata.continue ?? 0)
  } while (before > 0)
}

/** The object at a moment; undefined if it did not exist. Throws a readable error if the moment is too long ago. */
export async function readAt(client: Client, path: string, moment: Moment): Promise<JsonObject | undefined> {
  const query = new URLSearchParams({ at: momentParameter(moment) })
  try {
    const value = (await (await client.raw({ method: 'GET', path, query })).value()) as JsonValue
    return isObject(value) ? value : undefined
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw describeExpired(error, moment)
  }
}

export function describeExpired(error: unknown, moment: Moment): unknown {
  if (!isApiError(error, 'Expired')) return error
  return new Error(`${formatMoment(moment)} is no longer kept: ${error.message}`, { cause: error })
}

/** Throws UsageError. */
export function momentOf(text: string, flag: string, nowMs: number): Moment {
  const moment = parseMoment(text, nowMs)
  if (moment === undefined) throw new UsageError(`--${flag} ${text}: must be ${momentForms}`)
  return moment
}
