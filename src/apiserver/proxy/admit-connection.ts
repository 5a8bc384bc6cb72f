import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { TypeMeta } from '#/api/decoding/type-meta.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { admitConnectOrCreate } from '../registry/admit.ts'

/**
 * Runs admission for a CONNECT request and returns the admitted options. They are the only objects without
 * metadata that admission handles: plugins that read metadata ignore CONNECT.
 */
export async function admitConnection<T extends TypeMeta>(scope: RequestScope, sent: T): Promise<T> {
  const { query } = scope.context.request
  if (query.has('dryRun')) throw badRequest('dryRun is not supported')
  const object = sent as unknown as KubernetesObject
  const request = { ...writeRequest(scope, { dryRun: false, sent: {} }), operation: 'CONNECT' } as const
  const admitted = await admitConnectOrCreate(scope.registry, request, object)
  return admitted as unknown as T
}
