/** GET of one object, from the cache. */
import { notFound } from '#/api/errors.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../table.ts'
import { keyOfCall, subjectOf, type Call } from './call.ts'
import { freshen } from './list.ts'
import { parseResourceVersion } from './list-options.ts'

export async function get(call: Call): Promise<ApiResponse> {
  const { view, context, objects } = call
  const key = keyOfCall(call)
  await freshen(call, parseResourceVersion(context.request.query.get('resourceVersion') ?? ''))
  const stored = objects.get(key)
  if (stored === undefined) throw notFound(subjectOf(call))
  return { status: 200, body: objectBody(view, stored, call) }
}
