import type { WriteRequest } from '../registry/write-request.ts'
import { annotate, annotateBody } from '../request.ts'
import { traceHeadersOf } from '../request-origin.ts'
import type { RequestScope } from './request-scope.ts'

export interface WriteRequestOptions extends Pick<WriteRequest, 'dryRun' | 'fieldManager'> {
  /** The options for admission. */
  readonly sent: WriteRequest['options']
}

export function writeRequest(
  { context, info, resource }: RequestScope,
  { dryRun, fieldManager, sent }: WriteRequestOptions,
): WriteRequest {
  const { namespace, name, subresource } = info
  return {
    resource,
    subresource,
    namespace,
    name,
    user: context.user,
    dryRun,
    fieldManager,
    options: sent,
    signal: context.request.signal,
    origin: context.origin,
    traceHeaders: traceHeadersOf(context.request),
    onWebhookWait: waitedMs => {
      context.excludedMs += waitedMs
    },
    warn: text => context.warnings.add(text),
    addAuditAnnotation: (key, value, about) => {
      if (about === 'body') annotateBody(context, key, value)
      else annotate(context, key, value)
    },
  }
}
