/**
 * CEL variables of an admission request, and compilation of boolean conditions. See "matchConditions" in
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { admissionEnvironment, namespaceType, requestType } from '#/cel/admission-environment.ts'
import {
  AuthorizationDecisions,
  AuthorizerValue,
  ResourceCheck,
  type AuthorizationCheck,
} from '#/cel/authorizer.ts'
import { type Compiled, compileExpression } from '#/cel/compile-expression.ts'
import { fromJson } from '#/cel/json.ts'
import { boolType, dynType } from '#/cel/type.ts'
import type { Value } from '#/cel/value.ts'
import { serviceAccountGroups, serviceAccountUsername } from '../../authn/service-account-names.ts'
import type { Attributes, Authorizer } from '../../authz/authorizer.ts'
import type { UserInfo } from '../../request.ts'
import type { RequestFields } from './request-fields.ts'

export function compileCondition(expression: string): Compiled {
  return compileExpression(expression, environment, [boolType])
}

const environment = admissionEnvironment({ authorizer: true })

export interface ExpressionInput {
  readonly object: object | null
  readonly oldObject: object | null
  readonly request: RequestFields
  readonly params?: object | null
  readonly namespaceObject?: object | null
}

/** Without `authorizer`, the CEL variables `authorizer` and `authorizer.requestResource` are absent. */
export function admissionVariables(
  { object, oldObject, request, params = null, namespaceObject = null }: ExpressionInput,
  authorizer?: AuthorizerValue,
): Readonly<Record<string, Value>> {
  return {
    object: fromJson(object, dynType),
    oldObject: fromJson(oldObject, dynType),
    request: fromJson(request, requestType),
    params: fromJson(params, dynType),
    namespaceObject: fromJson(namespaceObject, namespaceType),
    ...(authorizer && {
      authorizer,
      'authorizer.requestResource': requestResource(authorizer, request),
    }),
  }
}

/** Authorization checks run as the user of the request unless the expression names a service account. */
export function authorizerValue(authorizer: Authorizer, user: UserInfo): AuthorizerValue {
  return new AuthorizerValue(
    new AuthorizationDecisions(check => authorizer.authorize(attributesOf(check, user))),
  )
}

function attributesOf({ serviceAccount, ...check }: AuthorizationCheck, user: UserInfo): Attributes {
  if (serviceAccount === undefined) return { user, ...check }
  const { namespace, name } = serviceAccount
  const groups = [...serviceAccountGroups(namespace), 'system:authenticated']
  return { user: { username: serviceAccountUsername(namespace, name), groups }, ...check }
}

function requestResource(authorizer: AuthorizerValue, request: RequestFields): ResourceCheck {
  const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
  const { group, resource } = request['resource'] as { readonly group: string; readonly resource: string }
  return new ResourceCheck(authorizer, {
    group,
    resource,
    subresource: textOf(request['subResource']),
    namespace: textOf(request['namespace']),
    name: textOf(request['name']),
  })
}
