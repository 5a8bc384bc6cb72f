/**
 * Reviews, which are evaluated and not stored: SubjectAccessReview, SelfSubjectAccessReview,
 * LocalSubjectAccessReview and SelfSubjectRulesReview by the authorizer, TokenReview by the authenticators, and
 * SelfSubjectReview.
 */
import { badRequest } from '#/api/errors.ts'
import { invalidObject } from '#/api/field-error.ts'
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '#/api/generated/authorization/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf } from '#/api/resource.ts'
import type { TokenReview, TokenReviewStatus } from '#/api/generated/authentication/v1.ts'
import { aggregateErrors } from '../authz/authorizer-chain.ts'
import type { Attributes, Authorizer } from '../authz/authorizer.ts'
import { fieldRequirements, labelRequirements, type Requirements } from '../authz/selector-attributes.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { readWriteOptions } from '../handlers/write-options.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import type { ApiResponse, UserInfo } from '../request.ts'
import type { Handler, VerbHandlers } from '../router.ts'
import { valueBody } from '../view.ts'
import type { Authentication } from '../authn.ts'
import { isAuthenticated, withAuthenticatedGroup, type AuthenticationResult } from '../authn/authenticator.ts'

export function accessReviews(authorizer: Authorizer): ReadonlyMap<string, { readonly create: Handler }> {
  const answerReview = async (
    scope: RequestScope,
    review: SubjectAccessReview,
    user: UserInfo,
  ): Promise<ApiResponse> => {
    check(scope, review)
    return answer(scope, { ...review, status: await decide(authorizer, attributesOf(user, review.spec)) })
  }
  const subject: Handler = async scope => {
    const review = (await read(scope)) as SubjectAccessReview
    return answerReview(scope, review, userOf(review))
  }
  const local: Handler = async scope => {
    const review = withNamespace((await read(scope)) as LocalSubjectAccessReview, scope.info.namespace)
    return answerReview(scope, review as SubjectAccessReview, userOf(review))
  }
  const self: Handler = async scope => {
    const review = (await read(scope)) as SelfSubjectAccessReview
    return answerReview(scope, review as SubjectAccessReview, scope.context.user)
  }
  return new Map([
    ['subjectaccessreviews.authorization.k8s.io', { create: subject }],
    ['localsubjectaccessreviews.authorization.k8s.io', { create: local }],
    ['selfsubjectaccessreviews.authorization.k8s.io', { create: self }],
    ['selfsubjectrulesreviews.authorization.k8s.io', { create: selfRules(authorizer) }],
    ['selfsubjectreviews.authentication.k8s.io', { create: selfReview }],
  ])
}

/**
 * SelfSubjectRulesReview: the permissions of the requesting user in a namespace, as far as authorizers can
 * enumerate them.
 */
function selfRules(authorizer: Authorizer): Handler {
  return async scope => {
    const { spec, ...review } = (await read(scope)) as Partial<SelfSubjectRulesReview>
    if (!spec?.namespace) throw badRequest('no namespace on request')
    const listed = authorizer.rulesFor?.(scope.context.user, spec.namespace)
    const { resourceRules = [], nonResourceRules = [], incomplete = true, errors = [] } = listed ?? {}
    const evaluationError = errors.length === 0 ? undefined : aggregateErrors(errors)
    const status = {
      resourceRules,
      nonResourceRules,
      incomplete,
      ...(evaluationError && { evaluationError }),
    }
    return answer(scope, { ...review, spec: {}, status })
  }
}

/** SelfSubjectReview: the authenticated user. */
const selfReview: Handler = async scope => {
  const review = await read(scope)
  const { username, uid, groups, extra } = scope.context.user
  const userInfo = { username, ...(uid && { uid }), groups, ...(extra && { extra }) }
  return answer(scope, { ...review, status: { userInfo } })
}

async function read(scope: RequestScope): Promise<KubernetesObject> {
  const { resource } = scope
  const { fieldValidation } = readWriteOptions(scope, 'CreateOptions')
  return decodeBody(scope, { kind: resource, schema: resource.schema, fieldValidation })
}

function check({ resource }: RequestScope, review: SubjectAccessReview): void {
  const errors = rulesOf(resource).validate?.(review) ?? []
  if (errors.length > 0) throw invalidObject({ group: resource.group, kind: resource.kind }, errors)
}

function answer({ resource, view }: RequestScope, review: object): ApiResponse {
  const named = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata: {} }
  return { status: 201, body: valueBody({ ...named, ...review }, view.negotiated) }
}

async function decide(authorizer: Authorizer, attributes: Attributes): Promise<SubjectAccessReviewStatus> {
  const { decision, reason, error } = await authorizer.authorize(attributes)
  const problems = [error, ...selectorProblems(attributes)].filter(each => each !== undefined)
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason && { reason }),
    ...(problems.length > 0 && { evaluationError: problems.join('; ') }),
  }
}

function selectorProblems(attributes: Attributes): readonly (string | undefined)[] {
  if (!attributes.isResource) return []
  return [
    describeProblem('fieldSelector', fieldRequirements(attributes.fieldSelector)),
    describeProblem('labelSelector', labelRequirements(attributes.labelSelector)),
  ]
}

function describeProblem(
  name: string,
  { requirements, isPartial }: Requirements<unknown>,
): string | undefined {
  if (!isPartial) return undefined
  return `spec.resourceAttributes.${name} ${requirements.length > 0 ? 'partially ' : ''}ignored due to parse error`
}

/** The namespace defaults to that of the request. */
function withNamespace(review: LocalSubjectAccessReview, namespace: string): LocalSubjectAccessReview {
  const { metadata } = review
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  return { ...review, metadata: { ...metadata, namespace } }
}

/** An invalid review may have no spec; it is rejected before authorization is evaluated. */
function userOf({ spec }: { readonly spec?: SubjectAccessReviewSpec }): UserInfo {
  const { user = '', uid, groups = [], extra } = spec ?? {}
  return { username: user, groups, ...(uid && { uid }), ...(extra && { extra }) }
}

function attributesOf(user: UserInfo, spec: SubjectAccessReviewSpec): Attributes {
  const { resourceAttributes: asked, nonResourceAttributes } = spec
  if (!asked) {
    const { verb = '', path = '' } = nonResourceAttributes ?? {}
    return { user, isResource: false, verb, path }
  }
  const {
    verb = '',
    group = '',
    version = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
  } = asked
  const { fieldSelector, labelSelector } = asked
  return {
    user,
    isResource: true,
    verb,
    group,
    version: version || '*',
    resource,
    subresource,
    namespace,
    name,
    ...(fieldSelector && { fieldSelector }),
    ...(labelSelector && { labelSelector }),
  }
}

/** TokenReview: authenticates a token for extension servers and proxies. */
export function tokenReview(authentication: Authentication): VerbHandlers {
  return {
    create: async scope => {
      const review = (await read(scope)) as Partial<TokenReview>
      const { token, audiences = [] } = review.spec ?? {}
      if (!token) throw badRequest('token is required for TokenReview in authentication')
      const asked = audiences.length > 0 ? audiences : authentication.audiences
      const result = await authentication.reviewToken(token, asked)
      return answer(scope, { ...review, status: statusOf(result) })
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
