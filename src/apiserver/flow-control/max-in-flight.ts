/**
 * The simple alternative to priority and fairness: fixed limits for concurrent read-only and mutating
 * requests.
 */
import { tooManyRequests } from '#/api/errors.ts'
import type { Stage } from '../pipeline.ts'
import { isConnectSubresource, isProfilePath, type RequestInfo } from '../request-info.ts'

export interface InFlightLimits {
  /** 0 means no limit. */
  readonly readOnly: number
  readonly mutating: number
}

export function maxInFlight(limits: InFlightLimits): Stage {
  const running = { readOnly: 0, mutating: 0 }
  return async (context, next) => {
    const { info, user } = context
    if (isLongRunning(info) || user.groups.includes('system:masters')) return next(context)
    const kind = reading.has(info.verb) ? 'readOnly' : 'mutating'
    if (limits[kind] > 0 && running[kind] >= limits[kind]) {
      context.isTerminated = true
      throw tooManyRequestsError()
    }
    running[kind]++
    try {
      return await next(context)
    } finally {
      running[kind]--
    }
  }
}

const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head'])

export function tooManyRequestsError() {
  return tooManyRequests('Too many requests, please try again later.', retryAfterSeconds)
}

const retryAfterSeconds = 1

/**
 * Long-running requests such as exec and proxy, which are exempt from limits. A watch is not: it is counted
 * until it has started.
 */
export function isLongRunning(info: RequestInfo): boolean {
  return info.isResource ? isConnectSubresource(info) : isProfilePath(info.path)
}
