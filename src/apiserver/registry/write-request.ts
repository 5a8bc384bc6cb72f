/** A write, and the errors that name its object. */
import type { ErrorSubject } from '#/api/errors.ts'
import { type FieldError, invalidObject } from '#/api/field-error.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { AdmissionRequest } from '../admission/admission-chain.ts'
import type { UserInfo } from '../request.ts'

/** A write of a user to a resource, in the version of the request. */
export interface WriteRequest {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly user: UserInfo
  readonly dryRun: boolean
  readonly fieldManager: string
  /** The options for admission. */
  readonly options: Readonly<Record<string, unknown>>
  warn(text: string): void
  /** Aborted when the client no longer waits for the response. */
  readonly signal?: AbortSignal
  /** Adds an audit annotation. */
  addAuditAnnotation: AdmissionRequest['addAuditAnnotation']
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
  return { group: resource.group, kind: resource.kind, name }
}
