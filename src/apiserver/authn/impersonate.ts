import type { Authorizer } from '../authz/authorizer.ts'
import type { Stage } from '../pipeline.ts'
import { checkImpersonation } from './impersonation.ts'
import { wantedUser, withoutImpersonation } from './impersonation-headers.ts'

/** Whoever may, does the request as somebody else, with no more rights than that one has. */
export function impersonate(authorizer: Authorizer): Stage {
  return async (context, next) => {
    const { request, user: requester, info } = context
    const wanted = wantedUser(request)
    if (wanted === undefined) return next()
    const { user, constraint } = await checkImpersonation(authorizer, { requester, wanted, info })
    context.user = user
    context.impersonation = { requester, constraint }
    context.request = withoutImpersonation(request)
    return next()
  }
}
