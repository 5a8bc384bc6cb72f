import type { WriteRequest } from '../registry/write-request.ts'
import { annotate } from '../request.ts'
import type { RequestScope } from './request-scope.ts'
import type { WriteOptions } from './write-options.ts'

export function writeRequest({ context, info, resource }: RequestScope, options: WriteOptions): WriteRequest {
  const { namespace, name, subresource } = info
  return {
    resource,
    namespace,
    name,
    subresource,
    user: context.user,
    dryRun: options.dryRun,
    fieldManager: options.fieldManager,
    options: options.sent,
    signal: context.request.signal,
    warn: text => context.warnings.add(text),
    addAuditAnnotation: (key, value, about) => annotate(context, key, value, about),
  }
}
