/** TokenReview: authenticates a token for extension servers and proxies; not stored. */
import { badRequest } from '#/api/errors.ts'
import type { TokenReview, TokenReviewStatus } from '#/api/generated/authentication/v1.ts'
import type { Authentication } from '../authn.ts'
import { isAuthenticated, withAuthenticatedGroup, type AuthenticationResult } from '../authn/authenticator.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { readWriteOptions } from '../handlers/write-options.ts'
import type { VerbHandlers } from '../router.ts'
import { valueBody } from '../view.ts'

export function tokenReview(authentication: Authentication): VerbHandlers {
  return {
    create: async scope => {
      const { resource: kind } = scope
      const { fieldValidation } = readWriteOptions(scope, 'CreateOptions')
      const sent = await decodeBody(scope, { kind, schema: kind.schema, fieldValidation })
      const review = sent as Partial<TokenReview>
      const { token, audiences = [] } = review.spec ?? {}
      if (!token) throw badRequest('token is required for TokenReview in authentication')
      const asked = audiences.length > 0 ? audiences : authentication.audiences
      const result = await authentication.reviewToken(token, asked)
      return { status: 201, body: valueBody({ ...review, status: statusOf(result) }, scope.view.negotiated) }
    },
  }
}

function statusOf(result: NonNullable<AuthenticationResult>): TokenReviewStatus {
  if (!isAuthenticated(result)) return { user: {}, error: result.failure }
  const {
    user: { username, uid, groups, extra },
    audiences,
  } = withAuthenticatedGroup(result)
  return {
    authenticated: true,
    user: { username, ...(uid && { uid }), groups, ...(extra && { extra }) },
    ...(audiences && { audiences }),
  }
}
