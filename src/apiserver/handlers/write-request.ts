import type { WriteRequest } from '../registry/write.ts'
import { annotate } from '../request.ts'
import type { Call } from './call.ts'
import type { WriteOptions } from './write-options.ts'

export function writeRequest({ context, info, resource }: Call, options: WriteOptions): WriteRequest {
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
    annotate: (key, value, about) => annotate(context, key, value, about),
  }
}
