import { isConnecting, type RequestInfo } from '../request-info.ts'

/** Requests that last and do little: they are not counted. A watch is, until it has begun. */
export function isLongRunning(info: RequestInfo): boolean {
  return info.isResource && isConnecting(info)
}
