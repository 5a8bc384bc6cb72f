/** A write, and the errors that name its object. */
import type { ErrorSubject } from '#/api/errors.ts'
import { type FieldError, invalidObject } from '#/api/field-error.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { UserInfo } from '../request.ts'
import type { RequestOrigin } from '../request-origin.ts'

/**
 * A write of a user to a resource, in the version of the request. It exists apart from `AdmissionAttributes`,
 * because whether the write is a CREATE or an UPDATE and which objects admission sees is known only while it is
 * tried, and changes with every retry.
 */
export interface WriteRequest {
  readonly resource: Resource
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly user: UserInfo
  readonly dryRun: boolean
  /**
   * The manager that owns the changed fields. Absent if the new object already has its managed fields, as in
   * server-side apply.
   */
  readonly fieldManager?: string | undefined
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as the client sent them. */
  readonly options: Readonly<Record<string, unknown>>
  /** Accepts the write beyond the space quota of the store. */
  readonly ignoresQuota?: boolean
  /** Aborted when the client no longer waits for the response. */
  readonly signal?: AbortSignal
  /** Absent if origins are not recorded, and for writes of the API server itself. */
  readonly origin?: RequestOrigin | undefined
  /** Headers of W3C Trace Context for webhooks. */
  readonly traceHeaders?: Readonly<Record<string, string>>
  warn(text: string): void
  /** Called with the time that the request waited for webhooks. */
  readonly onWebhookWait?: (waitedMs: number) => void
  /**
   * Adds an annotation to the audit event. The first value set for a key wins. With `about: 'body'`, the
   * annotation is recorded only where the audit event includes the request body.
   */
  addAuditAnnotation(key: string, value: string, about?: 'request' | 'body'): void
}

/** Throws ApiError 422 if there are errors. */
export function rejectInvalid(
  request: WriteRequest,
  object: KubernetesObject,
  errors: readonly FieldError[],
): void {
  if (errors.length > 0)
    throw invalidObject({ ...kindSubject(request), name: object.metadata.name ?? '' }, errors)
}

export function subjectOf(
  { resource }: Pick<WriteRequest, 'resource'>,
  name: string | undefined,
): ErrorSubject {
  return { group: resource.group, kind: resource.plural, ...(name && { name }) }
}

export function kindSubject({ resource, name }: Pick<WriteRequest, 'resource' | 'name'>): ErrorSubject {
  // The group of the storage version: errors about events.k8s.io name the kind of the core group.
  return { group: resource.storage.group, kind: resource.kind, name }
}
