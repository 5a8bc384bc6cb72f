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
import { formatTime } from '#/api/text/time.ts'
import type { TokenReview, TokenReviewStatus } from '#/api/generated/authentication/v1.ts'
import { aggregateErrors } from '../authz/authorizer-chain.ts'
import type { Attributes, Authorizer } from '../authz/authorizer.ts'
import { fieldRequirements, labelRequirements, type Requirements } from '../authz/selector-attributes.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { readWriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { withManagedFields } from '../registry/managed-fields.ts'
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
    const status = await decide(authorizer, attributesOf(user, review.spec))
    return answer(scope, { ...(await owned(scope, review)), status })
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
    const { spec } = (await read(scope)) as Partial<SelfSubjectRulesReview>
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
    return answer(scope, { spec: {}, status })
  }
}

/** SelfSubjectReview: the authenticated user. */
const selfReview: Handler = async scope => {
  await read(scope)
  const { username, uid, groups, extra } = scope.context.user
  const userInfo = { username, ...(uid && { uid }), groups, ...(extra && { extra }) }
  const creationTimestamp = formatTime(scope.registry.platform.clock.now())
  return answer(scope, { metadata: { creationTimestamp }, status: { userInfo } })
}

async function read(scope: RequestScope): Promise<KubernetesObject> {
  const { resource } = scope
  const { fieldValidation } = readWriteOptions(scope, 'CreateOptions')
  const review = await decodeBody(scope, { kind: resource, schema: resource.schema, fieldValidation })
  if (resource.scope === 'Namespaced') return review
  const { namespace: _namespace, ...metadata } = review.metadata
  return { ...review, metadata }
}

/** A review is answered with the fields that its sender owns, like an object that is stored. */
function owned(scope: RequestScope, review: KubernetesObject): Promise<KubernetesObject> {
  const request = writeRequest(scope, readWriteOptions(scope, 'CreateOptions'))
  return withManagedFields(scope.registry, request, { object: review, oldObject: undefined })
}

function check({ resource }: RequestScope, review: SubjectAccessReview): void {
  const errors = rulesOf(resource).validate?.(review) ?? []
  // As in Kubernetes, the error names no kind.
  if (errors.length > 0) throw invalidObject({ group: resource.group, kind: '' }, errors)
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
      const answered = await owned(scope, review as KubernetesObject)
      return answer(scope, { ...answered, status: statusOf(result, review.status) })
    },
  }
}

/** A failure keeps what was sent, except for the claim to be authenticated. */
function statusOf(
  result: NonNullable<AuthenticationResult>,
  { authenticated: _claim, ...sent }: TokenReviewStatus = {},
): TokenReviewStatus {
  if (!isAuthenticated(result)) return { user: {}, ...sent, error: result.failure }
  const {
    user: { username, uid, groups, extra },
    audiences,
  } = withAuthenticatedGroup(result)
  return {
    ...sent,
    authenticated: true,
    user: { username, ...(uid && { uid }), groups, ...(extra && { extra }) },
    ...(audiences && { audiences }),
  }
}
