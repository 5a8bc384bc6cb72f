/** The authorizers that look at nothing, or at the group of administrators only. */
import { allowed, noOpinion, noRules, type Authorizer } from './authorizer.ts'

export const alwaysAllow: Authorizer = {
  authorize: () => allowed,
  rulesFor: () => ({
    ...noRules,
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  }),
}

/** Without an opinion of its own: an authorizer that is asked later may still allow. */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ decision: 'no opinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => noRules,
}

/** Whoever is in it may do everything, whatever roles there are: the way back when everybody is locked out. */
export const administratorsGroup = 'system:masters'

export const administrators: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(administratorsGroup) ? allowed : noOpinion),
  rulesFor: () => noRules,
}
