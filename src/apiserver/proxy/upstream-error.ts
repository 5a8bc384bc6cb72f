import { ApiError } from '#/api/errors.ts'

/**
 * An error of an upstream server: status 500 without a reason, so it is not logged as a failure of this
 * server.
 */
export function upstreamError(message: string, cause?: unknown): ApiError {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const
  return new ApiError({ ...status, message, code: 500 }, { cause })
}
