import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { admitConnectOrCreate } from '../registry/admit.ts'

/** Runs admission for a CONNECT request and returns the admitted options object. */
export function admitConnection(scope: RequestScope, sent: KubernetesObject): Promise<KubernetesObject> {
  const { query } = scope.context.request
  if (query.has('dryRun')) throw badRequest('dryRun is not supported')
  return admitConnectOrCreate(
    scope.registry,
    writeRequest(scope, { dryRun: false, sent: {} }),
    sent,
    'CONNECT',
  )
}
