import { badRequest } from '#/api/errors.ts'
import type { ApiRequest, UserInfo } from '../request.ts'
import { headersBelow, headerValues, withoutHeaders } from './request-headers.ts'

const userHeader = 'impersonate-user'
const uidHeader = 'impersonate-uid'
const groupHeader = 'impersonate-group'
const extraPrefix = 'impersonate-extra-'

/**
 * As whom a request is to be done, if as somebody else. Throws ApiError 400 when it does not say whom it
 * means.
 */
export function wantedUser(request: ApiRequest): UserInfo | undefined {
  // Most requests have none of these, and pay for no more than to find that out.
  if (!Object.keys(request.headers).some(isImpersonation)) return undefined
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

/** Those who follow must not see that somebody is not himself. */
export function withoutImpersonation(request: ApiRequest): ApiRequest {
  return withoutHeaders(request, isImpersonation)
}

function isImpersonation(name: string): boolean {
  return (
    name.startsWith('impersonate-') &&
    (name === userHeader || name === groupHeader || name === uidHeader || name.startsWith(extraPrefix))
  )
}
