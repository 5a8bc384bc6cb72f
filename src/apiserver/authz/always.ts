/** Authorizers that allow or deny regardless of the request, and the one for the system:masters group. */
import { allowed, noOpinion, noRules, type Authorizer } from './authorizer.ts'

export const alwaysAllow: Authorizer = {
  authorize: () => allowed,
  rulesFor: () => ({
    ...noRules,
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  }),
}

/** Returns no opinion, so a later authorizer may still allow the request. */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ decision: 'no opinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => noRules,
}

/** Members are allowed everything regardless of RBAC, so that access can be restored after a lockout. */
export const systemMastersGroup = 'system:masters'

export const privilegedGroupAuthorizer: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(systemMastersGroup) ? allowed : noOpinion),
  rulesFor: () => noRules,
}
