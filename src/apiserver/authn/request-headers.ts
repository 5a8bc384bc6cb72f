/** Headers that carry lists, and names that were made fit for a header. */
import type { ApiRequest } from '../request.ts'

/** Every value of a header that may be sent several times. A value may contain commas. */
export function headerValues(request: ApiRequest, name: string): readonly string[] {
  const joined = request.headers[name]
  if (joined === undefined) return []
  return request.headerValues?.(name) ?? [joined]
}

/** What headers with a prefix say, by the rest of their names, with `%` sequences decoded. */
export function headersBelow(request: ApiRequest, prefix: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const name of Object.keys(request.headers)) {
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
    // Whoever does not encode means what it says.
    return encoded
  }
}

/** The request without some of its headers; the very same one when it has none of them. */
export function withoutHeaders(request: ApiRequest, isRemoved: (name: string) => boolean): ApiRequest {
  const names = Object.keys(request.headers)
  if (!names.some(isRemoved)) return request
  const kept = names.filter(name => !isRemoved(name)).map(name => [name, request.headers[name]])
  return withHeaders(request, Object.fromEntries(kept) as ApiRequest['headers'])
}

/** The request with these headers and no others. */
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
    // Made when somebody asks for them.
    get query() {
      return request.query
    },
    get signal() {
      return request.signal
    },
  }
}
