/** The headers with which a front proxy tells an extension server who the user is. */
import type { UpstreamHeaders } from '../proxy/forwarded-headers.ts'
import type { UserInfo } from '../request.ts'

export function identityHeaders({ username, uid, groups, extra = {} }: UserInfo): UpstreamHeaders {
  const headers: Record<string, string | readonly string[]> = { 'x-remote-user': headerValue(username) }
  if (uid) headers['x-remote-uid'] = headerValue(uid)
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerValue)
  for (const [key, values] of Object.entries(extra)) {
    const name = `x-remote-extra-${headerKey(key)}`
    headers[name] = values.map(headerValue)
  }
  return headers
}

/** Percent-encodes characters that a header name cannot contain, and the percent sign. */
function headerKey(key: string): string {
  return Array.from(Buffer.from(key.toLowerCase()), byte => {
    const character = String.fromCharCode(byte)
    return /[!#$&'*+.^_`|~0-9a-z-]/.test(character)
      ? character
      : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
  }).join('')
}

/** Sent as UTF-8: a header is a string of bytes. */
function headerValue(value: string): string {
  return Buffer.from(value).toString('latin1')
}
