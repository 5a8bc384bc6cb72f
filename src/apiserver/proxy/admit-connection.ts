import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Call } from '../handlers/call.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { admitPosted } from '../registry/write.ts'

/** With what somebody is connected to a pod, a service or a node, as admission leaves it. */
export function admitConnection(call: Call, sent: KubernetesObject): Promise<KubernetesObject> {
  const { query } = call.context.request
  if (query.has('dryRun')) throw badRequest('dryRun is not supported')
  const options = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore', sent: {} } as const
  return admitPosted(call.registry, writeRequest(call, options), sent, 'CONNECT')
}
