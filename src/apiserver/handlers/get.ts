/** GET of one object, from the cache. */
import { badRequest, notFound } from '#/api/errors.ts'
import { isTrue } from '../request-info.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import { getPast, isOfPast } from './past.ts'
import { keyOfScope, subjectOf, type RequestScope } from './request-scope.ts'
import { waitUntilFresh } from './wait-until-fresh.ts'
import { getVersion, listVersion } from './list-options.ts'

export async function get(scope: RequestScope): Promise<ApiResponse> {
  const { registry, view, context } = scope
  const key = keyOfScope(scope)
  refuseExport(scope)
  if (isOfPast(scope)) return getPast(scope)
  const version = context.request.query.get('resourceVersion') ?? ''
  // Events are read from the store in Kubernetes, whose error for an invalid version is that of a list.
  const isEvent = scope.resource.rules?.ttlMs !== undefined
  await waitUntilFresh(scope, isEvent ? listVersion(version) : getVersion(version))
  const stored = registry.cache.get(key)
  if (stored === undefined) throw notFound(subjectOf(scope))
  return { status: 200, body: await objectBody(view, stored, scope) }
}

export function refuseExport({ context }: RequestScope): void {
  if (isTrue(context.request.query.get('export')))
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported')
}
