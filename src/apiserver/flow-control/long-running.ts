import { isConnectSubresource, type RequestInfo } from '../request-info.ts'

/**
 * Long-running requests such as exec and proxy, which are exempt from limits. A watch is not: it is counted
 * until it has started.
 */
export function isLongRunning(info: RequestInfo): boolean {
  return info.isResource && isConnectSubresource(info)
}
