import { ApiError, type Status } from '#/api/errors.ts'
import type { TransportResponse } from '../transport.ts'

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
