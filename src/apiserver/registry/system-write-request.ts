import type { Resource } from '#/api/resource.ts'
import type { UserInfo } from '../request.ts'
import type { WriteRequest } from './write-request.ts'

/** The identity of the API server for its own writes. */
const system: UserInfo = { username: 'system:apiserver', groups: ['system:masters'] }

/** They ignore the space quota: the API server must start with a full store, so that it can be emptied. */
export function systemWriteRequest(resource: Resource, name: string, namespace = ''): WriteRequest {
  return {
    resource,
    name,
    namespace,
    subresource: '',
    user: system,
    dryRun: false,
    fieldManager: 'kube-apiserver',
    options: {},
    ignoresQuota: true,
    warn: () => undefined,
    addAuditAnnotation: () => undefined,
  }
}
