import { badRequest } from '#/api/errors.ts'
import type { ApiRequest, UserInfo } from '../request.ts'
import { hasHeader, headersBelow, headerValues, withoutHeaders } from './request-headers.ts'

const userHeader = 'impersonate-user'
const uidHeader = 'impersonate-uid'
const groupHeader = 'impersonate-group'
const extraPrefix = 'impersonate-extra-'

/**
 * The user to impersonate; undefined without impersonation headers. Throws ApiError 400 if the user name is
 * missing.
 */
export function impersonatedUser(request: ApiRequest): UserInfo | undefined {
  // Fast path: most requests have no impersonation headers.
  if (!hasHeader(request, isImpersonation)) return undefined
  const [username = ''] = headerValues(request, userHeader)
  const [uid = ''] = headerValues(request, uidHeader)
  const groups = headerValues(request, groupHeader)
  const extra = headersBelow(request, extraPrefix)
  if (username === '') {
    if (uid === '' && groups.length === 0 && extra.size === 0) return undefined
    throw badRequest('requested a uid, groups or extra fields without impersonating a user name')
  }
  return {
    username,
    ...(uid !== '' && { uid }),
    groups,
    ...(extra.size > 0 && { extra: Object.fromEntries(extra) }),
  }
}

/** Later stages and upstream servers must not see the impersonation headers. */
export function withoutImpersonation(request: ApiRequest): ApiRequest {
  return withoutHeaders(request, isImpersonation)
}

function isImpersonation(name: string): boolean {
  return (
    name.startsWith('impersonate-') &&
    (name === userHeader || name === groupHeader || name === uidHeader || name.startsWith(extraPrefix))
  )
}
