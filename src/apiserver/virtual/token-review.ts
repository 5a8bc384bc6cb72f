/** TokenReview: authenticates a token for extension servers and proxies; not stored. */
import { badRequest } from '#/api/errors.ts'
import type { TokenReview, TokenReviewStatus } from '#/api/generated/authentication/v1.ts'
import type { Authentication } from '../authn.ts'
import { isAuthenticated, withEverybody, type Outcome } from '../authn/authenticator.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { readWriteOptions } from '../handlers/write-options.ts'
import type { VerbHandlers } from '../router.ts'
import { valueBody } from '../view.ts'

export function tokenReview(authentication: Authentication): VerbHandlers {
  return {
    create: async call => {
      const { resource: kind } = call
      const { fieldValidation } = readWriteOptions(call, 'CreateOptions')
      const sent = await decodeBody(call, { kind, schema: kind.schema, fieldValidation })
      const review = sent as Partial<TokenReview>
      const { token, audiences = [] } = review.spec ?? {}
      if (!token) throw badRequest('token is required for TokenReview in authentication')
      const asked = audiences.length > 0 ? audiences : authentication.audiences
      const outcome = await authentication.reviewToken(token, asked)
      return { status: 201, body: valueBody({ ...review, status: statusOf(outcome) }, call.view.negotiated) }
    },
  }
}

function statusOf(outcome: NonNullable<Outcome>): TokenReviewStatus {
  if (!isAuthenticated(outcome)) return { user: {}, error: outcome.refused }
  const {
    user: { username, uid, groups, extra },
    audiences,
  } = withEverybody(outcome)
  return {
    authenticated: true,
    user: { username, ...(uid && { uid }), groups, ...(extra && { extra }) },
    ...(audiences && { audiences }),
  }
}
