import type { Authorizer } from '../authz/authorizer.ts'
import type { Next, Stage } from '../pipeline.ts'
import type { ApiResponse, RequestContext, UserInfo } from '../request.ts'
import { checkImpersonation } from './impersonation.ts'
import { impersonatedUser, withoutImpersonation } from './impersonation-headers.ts'

/** Impersonation: executes the request as the impersonated user, if the requester is allowed to. */
export function impersonate(authorizer: Authorizer): Stage {
  const become = async (context: RequestContext, wanted: UserInfo, next: Next): Promise<ApiResponse> => {
    const { request, user: requester, info } = context
    const { user, constraint } = await checkImpersonation(authorizer, { requester, wanted, info })
    context.user = user
    context.impersonation = { requester, constraint }
    context.request = withoutImpersonation(request)
    return next(context)
  }
  return (context, next) => {
    const wanted = impersonatedUser(context.request)
    return wanted === undefined ? next(context) : become(context, wanted, next)
  }
}
