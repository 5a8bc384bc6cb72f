/** GET of one object, from the cache. */
import { notFound } from '#/api/errors.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import { keyOfScope, subjectOf, type RequestScope } from './request-scope.ts'
import { waitUntilFresh } from './wait-until-fresh.ts'
import { parseResourceVersion } from './list-options.ts'

export async function get(scope: RequestScope): Promise<ApiResponse> {
  const { registry, view, context } = scope
  const key = keyOfScope(scope)
  await waitUntilFresh(scope, parseResourceVersion(context.request.query.get('resourceVersion') ?? ''))
  const stored = registry.cache.get(key)
  if (stored === undefined) throw notFound(subjectOf(scope))
  return { status: 200, body: await objectBody(view, stored, scope) }
}
