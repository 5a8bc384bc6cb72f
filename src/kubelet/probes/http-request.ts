import type { HTTPHeader } from '#/api/generated/core/v1.ts'

export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>

/** Kubernetes version in the user agent. */
const version = '1.36'

/** Names are lowercase. `purpose` is part of the user agent: `kube-probe/1.36`. */
export function requestHeaders(given: readonly HTTPHeader[], purpose: string): RequestHeaders {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (const { name, value } of given) {
    const key = name.toLowerCase()
    const before = headers[key]
    headers[key] = before === undefined ? value : [before, value].flat()
  }
  headers['user-agent'] ??= `kube-${purpose}/${version}`
  headers['accept'] ??= '*/*'
  if (headers['accept'] === '') delete headers['accept']
  if (headers['host'] === '') delete headers['host']
  else if (Array.isArray(headers['host'])) headers['host'] = headers['host'][0] ?? ''
  return headers
}

/** A valid request path with query for any input. A host in it is dropped. */
export function requestPath(path: string): string {
  const local = path.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, '').replace(/#.*$/s, '')
  const rooted = local.startsWith('/') ? local : `/${local}`
  return rooted
    .toWellFormed()
    .replaceAll(/[^!$&'()*+,\-./0-9:;=?@A-Z_a-z~%]|%(?![0-9a-fA-F]{2})/gu, encodeURIComponent)
}
