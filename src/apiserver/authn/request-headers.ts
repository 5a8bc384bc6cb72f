/** Access to headers with multiple values and percent-encoded names. */
import type { ApiRequest } from '../request.ts'

/** All values of a header that may occur several times. A value may contain commas. */
export function headerValues(request: ApiRequest, name: string): readonly string[] {
  const joined = request.headers[name]
  if (joined === undefined) return none
  return request.headerValues?.(name) ?? [joined]
}

const none: readonly string[] = []

/** Values of all headers with this prefix, by the percent-decoded rest of the name. */
export function headersBelow(request: ApiRequest, prefix: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const name of headerNamesOf(request)) {
    if (!name.startsWith(prefix)) continue
    const key = decodeKey(name.slice(prefix.length))
    found.set(key, [...(found.get(key) ?? []), ...headerValues(request, name)])
  }
  return found
}

function decodeKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    // Not percent-encoded: use the name as is.
    return encoded
  }
}

export function hasHeader(request: ApiRequest, isMeant: (name: string) => boolean): boolean {
  for (const name of headerNamesOf(request)) if (isMeant(name)) return true
  return false
}

function headerNamesOf({ headers, headerNames }: ApiRequest): readonly string[] {
  return headerNames ?? Object.keys(headers)
}

/** Removes headers; returns the same request if it has none of them. */
export function withoutHeaders(request: ApiRequest, isRemoved: (name: string) => boolean): ApiRequest {
  if (!hasHeader(request, isRemoved)) return request
  const kept = headerNamesOf(request)
    .filter(name => !isRemoved(name))
    .map(name => [name, request.headers[name]])
  return withHeaders(request, Object.fromEntries(kept) as ApiRequest['headers'])
}

/** Replaces all headers. */
export function withHeaders(request: ApiRequest, headers: ApiRequest['headers']): ApiRequest {
  const { method, path, search, body, peer, isUpgrade } = request
  return {
    method,
    path,
    ...(search !== undefined && { search }),
    headers,
    body,
    peer,
    ...(isUpgrade && { isUpgrade }),
    headerValues: name => {
      const isKept = headers[name] !== undefined && headers[name] === request.headers[name]
      return isKept ? headerValues(request, name) : headers[name] === undefined ? [] : [headers[name]]
    },
    // Lazy: the original request creates them on first access.
    get query() {
      return request.query
    },
    get signal() {
      return request.signal
    },
    get isAborted() {
      return request.isAborted ?? request.signal.aborted
    },
  }
}
