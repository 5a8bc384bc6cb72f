/** Authorizer chain. The first allow or deny decides; if all have no opinion, their reasons are joined. */
import type { UserInfo } from '../request.ts'
import type { Attributes, Authorization, Authorizer, UserRules } from './authorizer.ts'

export function authorizerChain(authorizers: readonly Authorizer[]): Required<Authorizer> {
  return {
    authorize: attributes => decide(authorizers, attributes),
    rulesFor: (user, namespace) => collectRules(authorizers, user, namespace),
  }
}

/** Synchronous as long as the authorizers are, so most requests are authorized without a promise. */
function decide(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  before: readonly Authorization[] = [],
): Authorization | Promise<Authorization> {
  const opinions = [...before]
  for (const [index, authorizer] of authorizers.entries()) {
    const answer = authorizer.authorize(attributes)
    if (answer instanceof Promise) {
      const rest = authorizers.slice(index + 1)
      return answer.then(late => {
        return late.decision === 'no opinion' ? decide(rest, attributes, [...opinions, late]) : late
      })
    }
    if (answer.decision !== 'no opinion') return answer
    opinions.push(answer)
  }
  return combine(opinions)
}

function combine(opinions: readonly Authorization[]): Authorization {
  const errors = opinions.map(({ error }) => error).filter(error => error !== undefined)
  return {
    decision: 'no opinion',
    reason: opinions
      .map(({ reason }) => reason)
      .filter(reason => reason !== '')
      .join('\n'),
    ...(errors.length > 0 && { error: aggregateErrors(errors) }),
  }
}

function collectRules(authorizers: readonly Authorizer[], user: UserInfo, namespace: string): UserRules {
  const each = authorizers.map(authorizer => authorizer.rulesFor?.(user, namespace) ?? unlistable)
  return {
    resourceRules: each.flatMap(({ resourceRules }) => resourceRules),
    nonResourceRules: each.flatMap(({ nonResourceRules }) => nonResourceRules),
    incomplete: each.some(({ incomplete }) => incomplete),
    errors: each.flatMap(({ errors }) => errors),
  }
}

const unlistable: UserRules = { resourceRules: [], nonResourceRules: [], incomplete: true, errors: [] }

/** Formats several errors as Kubernetes does. */
export function aggregateErrors(errors: readonly string[]): string {
  const texts = [...new Set(errors)]
  return texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
}
