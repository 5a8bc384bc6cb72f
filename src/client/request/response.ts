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

const reasons: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [406, 'NotAcceptable'],
  [409, 'Conflict'],
  [410, 'Gone'],
  [413, 'RequestEntityTooLarge'],
  [415, 'UnsupportedMediaType'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
  [502, 'InternalError'],
  [503, 'ServiceUnavailable'],
  [504, 'Timeout'],
])

function madeUp(code: number): Status {
  const reason = reasons.get(code)
  const message = `the server answered with status ${code} and without saying more`
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
