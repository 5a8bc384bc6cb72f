/** A response of the API server that is not a success, with its Status if there is one. */
export class ApiError extends Error {
  readonly status: number
  /** `NotFound`, `Conflict`; empty if the response was not a Status. */
  readonly reason: string
  readonly details: StatusDetails | undefined

  constructor({ status, reason = '', message, details }: ApiErrorFields) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.reason = reason
    this.details = details
  }
}

interface ApiErrorFields {
  readonly status: number
  readonly reason?: string | undefined
  readonly message: string
  readonly details?: StatusDetails | undefined
}

interface StatusDetails {
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

export interface StatusCause {
  readonly field?: string
  readonly message?: string
  readonly reason?: string
}

/** A Status as the server sends it: in an error response, or in an ERROR event of a watch. */
export interface Status {
  readonly kind?: string
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly details?: StatusDetails
}

export function apiErrorOfStatus({ code = 500, reason, message = reason ?? '', details }: Status): ApiError {
  return new ApiError({ status: code, reason, message, details })
}

const textMax = 1_000

/** The body is a Status, or the text of a proxy on the way. */
export function apiErrorOfBody(status: number, body: string): ApiError {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status') {
      return apiErrorOfStatus({ ...(value as Status), code: status })
    }
  } catch {
    // Not JSON.
  }
  return new ApiError({ status, message: body.trim().slice(0, textMax) || `HTTP status ${status}` })
}

/** What the user reads about an error of any type. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
