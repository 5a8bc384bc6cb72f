import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Call } from '../handlers/call.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { admitPosted } from '../registry/write.ts'

/** Runs admission for a CONNECT request and returns the admitted options object. */
export function admitConnection(call: Call, sent: KubernetesObject): Promise<KubernetesObject> {
  const { query } = call.context.request
  if (query.has('dryRun')) throw badRequest('dryRun is not supported')
  const options = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore', sent: {} } as const
  return admitPosted(call.registry, writeRequest(call, options), sent, 'CONNECT')
}
