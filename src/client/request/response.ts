/** Decodes responses of the API server: objects, lists and errors. */
import { ApiError, type Status } from '#/api/errors.ts'
import { objectOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { JsonObject } from '#/api/apply.ts'
import type { ObjectList } from '../client.ts'
import { TransportError, type TransportResponse } from '../transport.ts'

/** Types the response as the requested kind: the server has validated it against its schema. */
export function decodeObject<T extends KubernetesObject>(resource: Resource<T>, value: unknown): Stored<T> {
  if (isObject(value)) return objectOf(value as JsonObject) as Stored<T>
  throw new TransportError('invalid-response', `response is not a ${resource.kind}`)
}

/**
 * Items of a list have no apiVersion and kind; they are added, since objects are passed around without their
 * list.
 */
export function decodeList<T extends KubernetesObject>(resource: Resource<T>, value: unknown): ObjectList<T> {
  const { items, metadata } = (isObject(value) ? value : {}) as Partial<ObjectList<T>>
  // Go encodes an empty list as null.
  if (!isObject(metadata) || (items !== null && !Array.isArray(items))) {
    throw new TransportError('invalid-response', `response is not a list of ${resource.plural}`)
  }
  const objects = (items ?? []) as readonly unknown[]
  return { items: objects.map(item => withKind(resource, decodeObject(resource, item))), metadata }
}

export function withKind<T extends KubernetesObject>(resource: Resource, object: T): T {
  if (object.kind !== undefined && object.apiVersion !== undefined) return object
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Decodes the Status of an error response. The response may come from a proxy that is not an API server. */
export async function responseError(response: TransportResponse): Promise<ApiError> {
  const value = await response.value().catch(() => undefined)
  const status = isFailure(value) ? value : madeUp(response.status)
  return new ApiError(
    withRetryAfter({ ...status, code: status.code ?? response.status }, response.headers['retry-after']),
  )
}

/** The error of an ERROR watch event. */
export function statusError(value: unknown): ApiError {
  return new ApiError(isFailure(value) ? value : madeUp(500))
}

function isFailure(value: unknown): value is Status {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Status).kind === 'Status' &&
    (value as Status).status !== 'Success'
  )
}

/** Reasons and messages for responses that have no Status. */
const statuses: ReadonlyMap<number, readonly [reason: string, message: string]> = new Map([
  [400, ['BadRequest', 'the server rejected our request for an unknown reason']],
  [401, ['Unauthorized', 'the server has asked for the client to provide credentials']],
  [403, ['Forbidden', 'the server does not allow access to the requested resource']],
  [404, ['NotFound', 'the server could not find the requested resource']],
  [405, ['MethodNotAllowed', 'the server does not allow this method on the requested resource']],
  [406, ['NotAcceptable', 'the server was unable to respond with a content type that the client supports']],
  [409, ['Conflict', 'the server reported a conflict']],
  [410, ['Gone', 'the requested resource is no longer available']],
  [413, ['RequestEntityTooLarge', 'the request is too large for the server']],
  [415, ['UnsupportedMediaType', 'the server does not support the media type of the request']],
  [422, ['Invalid', 'the server rejected our request due to an error in our request']],
  [429, ['TooManyRequests', 'the server has received too many requests and has asked us to try again later']],
  [500, ['InternalError', 'an error on the server has prevented the request from succeeding']],
  [502, ['InternalError', 'an error on the server has prevented the request from succeeding']],
  [503, ['ServiceUnavailable', 'the server is currently unable to handle the request']],
  [504, ['Timeout', 'the server was unable to return a response in the time allotted']],
])

function madeUp(code: number): Status {
  const [reason, message = `the server responded with status ${code}`] = statuses.get(code) ?? []
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    code,
    ...(reason && { reason }),
  }
}

function withRetryAfter(status: Status, header: string | undefined): Status {
  const seconds = parseRetryAfter(header)
  if (seconds === undefined || status.details?.retryAfterSeconds !== undefined) return status
  return { ...status, details: { ...status.details, retryAfterSeconds: seconds } }
}

/** In seconds; API servers do not send dates. */
export function parseRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^[0-9]{1,6}$/.test(header) ? Number(header) : undefined
}
