import { ApiError } from '#/api/errors.ts'

/** Somebody else failed: no fault of this server's, and nothing that a client could match on. */
export function remoteFailure(message: string, cause?: unknown): ApiError {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const
  return new ApiError({ ...status, message, code: 500 }, { cause })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
