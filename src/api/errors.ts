/**
 * The single API error class. It carries a Kubernetes `Status`, so server responses, client exceptions and
 * the errors controllers match on are the same value. Match on `reason`, never on the message.
 */
import type { Int64 } from './text/int64.ts'
import { quote } from './text/quote.ts'

export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: Readonly<Record<string, unknown>>
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code?: number
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

export interface StatusCause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

/** The API's status reasons with their HTTP codes. */
const codes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  /**
   * A stored object cannot be decoded: it is corrupt, or encrypted with a key that is no longer available.
   */
  StorageReadError: 500,
  ServerTimeout: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const

export type StatusReason = keyof typeof codes

/** The object, or the resource if there is no name, that an error refers to. */
export interface ErrorSubject {
  readonly group: string
  /** Plural resource name in errors about a resource (`pods "web" not found`), kind in validation errors. */
  readonly kind: string
  readonly name?: string
}

export class ApiError extends Error {
  readonly status: Status

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message ?? status.reason ?? 'unknown', options)
    this.name = 'ApiError'
    this.status = status
  }

  get reason(): string {
    return this.status.reason ?? ''
  }

  get code(): number {
    return this.status.code ?? 500
  }

  /** Sets the cause, which is logged but not sent to the client. */
  causedBy(cause: unknown): this {
    this.cause = cause
    return this
  }
}

/** Creates an error with one of the known reasons. */
export function apiError(reason: StatusReason, message: string, details?: StatusDetails): ApiError {
  return new ApiError(failure({ message, reason, ...(details && { details }), code: codes[reason] }))
}

export function badRequest(message: string): ApiError {
  return apiError('BadRequest', message)
}

/** The request is not authenticated. Unauthenticated clients get no further detail. */
export function unauthorized(message = 'Unauthorized'): ApiError {
  return apiError('Unauthorized', message)
}

export function notFound(subject: ErrorSubject): ApiError {
  return apiError('NotFound', `${named(subject)} not found`, details(subject))
}

export function alreadyExists(subject: ErrorSubject): ApiError {
  return apiError('AlreadyExists', `${named(subject)} already exists`, details(subject))
}

/** All names generated from `generateName` were taken; the client may retry. */
export function generateNameConflict(subject: ErrorSubject, retryAfterSeconds: number): ApiError {
  const text =
    `${named(subject)} already exists, the server was not able to generate a unique name ` + 'for the object'
  return apiError('AlreadyExists', text, { ...details(subject), ...retryAfter(retryAfterSeconds) })
}

/** Message for an optimistic concurrency conflict. */
export const optimisticLockErrorMessage =
  'the object has been modified; please apply your changes to the latest version and try again'

export function conflict(subject: ErrorSubject, message: string): ApiError {
  const text = `Operation cannot be fulfilled on ${named(subject)}: ${message}`
  return apiError('Conflict', text, details(subject))
}

/** Server-side apply conflict; the causes list the fields and their managers. */
export function applyConflict(causes: readonly StatusCause[], message: string): ApiError {
  return apiError('Conflict', message, causes.length > 0 ? { causes } : {})
}

/** A subject without a kind is a non-resource path. */
export function forbidden(subject: ErrorSubject, message: string): ApiError {
  const name = subject.name ? ` ${quote(subject.name)}` : ''
  const head = subject.kind === '' && subject.group === '' ? '' : `${qualifiedName(subject)}${name} is `
  return apiError('Forbidden', `${head}forbidden: ${message}`, details(subject))
}

export function methodNotAllowed(subject: ErrorSubject, verb: string): ApiError {
  const text = `${verb} is not supported on resources of kind ${quote(qualifiedName(subject))}`
  return apiError('MethodNotAllowed', text, details({ group: subject.group, kind: subject.kind }))
}

/** The server supports none of the formats in the Accept header. */
export function notAcceptable(accepted: readonly string[]): ApiError {
  return apiError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`)
}

/** The format of the request body is not supported. */
export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const text = 'the body of the request was in an unknown format - accepted media types include: '
  return apiError('UnsupportedMediaType', text + accepted.join(', '))
}

export function requestEntityTooLarge(message: string): ApiError {
  return apiError('RequestEntityTooLarge', `Request entity too large: ${message}`)
}

export function expired(message: string): ApiError {
  return apiError('Expired', message)
}

export function gone(message: string): ApiError {
  return apiError('Gone', message)
}

export function tooManyRequests(message: string, retryAfterSeconds: number): ApiError {
  return apiError('TooManyRequests', message, retryAfter(retryAfterSeconds))
}

export function serviceUnavailable(message: string): ApiError {
  return apiError('ServiceUnavailable', message)
}

/** The request timed out; it may still take effect. */
export function timeout(message: string, retryAfterSeconds: number): ApiError {
  return apiError('Timeout', `Timeout: ${message}`, retryAfter(retryAfterSeconds))
}

/** The requested resourceVersion is newer than the latest that this server has observed. */
export function tooLargeResourceVersion(asked: Int64, current: Int64, retryAfterSeconds: number): ApiError {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }]
  const text = `Timeout: Too large resource version: ${asked}, current: ${current}`
  return apiError('Timeout', text, { causes, ...retryAfter(retryAfterSeconds) })
}

/** Nothing was done because of a temporary condition; the client should retry. */
export function serverTimeout(subject: ErrorSubject, operation: string, retryAfterSeconds: number): ApiError {
  const text =
    `The ${operation} operation against ${qualifiedName(subject)} could not be completed ` +
    'at this time, please try again.'
  const about = details({ ...subject, name: operation })
  return apiError('ServerTimeout', text, { ...about, ...retryAfter(retryAfterSeconds) })
}

/** A server-side failure: the cause is kept for logging, the client sees only the message. */
export function internalError(message: string, cause?: unknown): ApiError {
  const text = `Internal error occurred: ${message}`
  return apiError('InternalError', text, { causes: [{ message }] }).causedBy(cause)
}

/** A failure without a reason: Kubernetes reports the errors of programs that it depends on so. */
export function unknownError(message: string): ApiError {
  return new ApiError(failure({ message, code: 500 }))
}

/** True if the value is an API error, with this reason if given. */
export function isApiError(error: unknown, reason?: StatusReason): error is ApiError {
  return error instanceof ApiError && (reason === undefined || error.reason === reason)
}

/**
 * True if the object of a write was deleted, changed or replaced meanwhile. The uid of another object is a conflict for
 * updates and preconditions, and an invalid field for patches.
 */
export function isStale(error: unknown): boolean {
  if (isApiError(error, 'NotFound') || isApiError(error, 'Conflict')) return true
  const causes = isApiError(error, 'Invalid') ? (error.status.details?.causes ?? []) : []
  return causes.length > 0 && causes.every(({ field }) => field === 'metadata.uid')
}

/** True if the request was rejected because its namespace is terminating. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isApiError(error, 'Forbidden') &&
    (error.status.details?.causes ?? []).some(cause => cause.reason === 'NamespaceTerminating')
  )
}

/** `pods`, `deployments.apps`; the same for kinds. */
export function qualifiedName(subject: ErrorSubject): string {
  return subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`
}

function failure(status: Partial<Status>): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status }
}

function named(subject: ErrorSubject): string {
  return `${qualifiedName(subject)} ${quote(subject.name ?? '')}`
}

function details(subject: ErrorSubject): StatusDetails {
  return {
    ...(subject.name && { name: subject.name }),
    ...(subject.group && { group: subject.group }),
    ...(subject.kind && { kind: subject.kind }),
  }
}

/** Zero is omitted, as everywhere in the API. */
function retryAfter(retryAfterSeconds: number): StatusDetails {
  return retryAfterSeconds === 0 ? {} : { retryAfterSeconds }
}
