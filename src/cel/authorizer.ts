/**
 * Authorization checks in expressions:
 * `authorizer.group("apps").resource("deployments").check("get").allowed()`. Evaluation is synchronous, but
 * an authorizer may have to call another server. So a check without an answer aborts the evaluation with a
 * `Suspension`; when the answer has arrived the expression is evaluated again and finds it (`withAnswers`
 * does both). This is sound because expressions have no side effects, and terminates because each round adds
 * an answer and the cost limit allows only a few checks.
 */
import { messageOf } from '#/base/message-of.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '#/api/names.ts'
import { traversalFactor } from './cost.ts'
import { Fault } from './fault.ts'
import { method, type Library } from './function.ts'
import { boolType, opaque, stringType } from './type.ts'
import { OpaqueValue } from './value.ts'

/** An authorization check. Without a service account it is for the user of the request. */
export type AuthorizationQuestion = { readonly serviceAccount?: ServiceAccountName } & (
  | ResourceQuestion
  | PathQuestion
)

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

export interface ResourceQuestion {
  readonly isResource: true
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly fieldSelector?: { readonly rawSelector: string }
  readonly labelSelector?: { readonly rawSelector: string }
}

export interface PathQuestion {
  readonly isResource: false
  readonly verb: string
  readonly path: string
}

export interface AuthorizationAnswer {
  readonly decision: 'allow' | 'deny' | 'no opinion'
  readonly reason: string
  readonly error?: string
}

export type Authorize = (
  question: AuthorizationQuestion,
) => Promise<AuthorizationAnswer> | AuthorizationAnswer

/** Aborts the evaluation until this has settled. It is not a `Fault`, so no operator absorbs it. */
export class Suspension {
  readonly settled: Promise<void>

  constructor(settled: Promise<void>) {
    this.settled = settled
  }
}

/** Cache of the authorization checks of one request; each question is asked once. */
export class AuthorizationAnswers {
  readonly #authorize: Authorize
  readonly #answers = new Map<string, AuthorizationAnswer | Suspension>()

  constructor(authorize: Authorize) {
    this.#authorize = authorize
  }

  /** Throws a Suspension if the answer is pending. */
  answerTo(question: AuthorizationQuestion): AuthorizationAnswer {
    const key = JSON.stringify(question)
    const known = this.#answers.get(key) ?? this.#ask(key, question)
    if (known instanceof Suspension) throw known
    return known
  }

  #ask(key: string, question: AuthorizationQuestion): AuthorizationAnswer | Suspension {
    const answer = this.#authorize(question)
    const known = answer instanceof Promise ? new Suspension(this.#keep(key, answer)) : answer
    this.#answers.set(key, known)
    return known
  }

  async #keep(key: string, answer: Promise<AuthorizationAnswer>): Promise<void> {
    try {
      this.#answers.set(key, await answer)
    } catch (error) {
      const message = messageOf(error)
      this.#answers.set(key, { decision: 'no opinion', reason: '', error: message })
    }
  }
}

/**
 * Evaluates until no answer is missing; synchronous if none is. `evaluate` is run from the start each time
 * and must use a new budget each time.
 */
export function withAnswers<T>(evaluate: () => T): T | Promise<T> {
  try {
    return evaluate()
  } catch (error) {
    if (!(error instanceof Suspension)) throw error
    return error.settled.then(() => withAnswers(evaluate))
  }
}

/** Opaque values, compared by identity. */
abstract class Token extends OpaqueValue {
  override equals(other: OpaqueValue): boolean {
    return this === other
  }
}

/** The variable `authorizer`. */
export class AuthorizerValue extends Token {
  override readonly typeName = 'kubernetes.authorization.Authorizer'
  readonly answers: AuthorizationAnswers
  readonly serviceAccount: ServiceAccountName | undefined

  constructor(answers: AuthorizationAnswers, serviceAccount?: ServiceAccountName) {
    super()
    this.answers = answers
    this.serviceAccount = serviceAccount
  }
}

class PathCheck extends Token {
  override readonly typeName = 'kubernetes.authorization.PathCheck'
  readonly authorizer: AuthorizerValue
  readonly path: string

  constructor(authorizer: AuthorizerValue, path: string) {
    super()
    this.authorizer = authorizer
    this.path = path
  }
}

class GroupCheck extends Token {
  override readonly typeName = 'kubernetes.authorization.GroupCheck'
  readonly authorizer: AuthorizerValue
  readonly group: string

  constructor(authorizer: AuthorizerValue, group: string) {
    super()
    this.authorizer = authorizer
    this.group = group
  }
}

/** Absent fields are empty. */
export type CheckedResource = Pick<ResourceQuestion, 'group' | 'resource'> &
  Partial<Pick<ResourceQuestion, 'subresource' | 'namespace' | 'name' | 'fieldSelector' | 'labelSelector'>>

/** The value of `authorizer.group("").resource("pods")` and of the variable `authorizer.requestResource`. */
export class ResourceCheck extends Token {
  override readonly typeName = 'kubernetes.authorization.ResourceCheck'
  readonly authorizer: AuthorizerValue
  readonly resource: CheckedResource

  constructor(authorizer: AuthorizerValue, resource: CheckedResource) {
    super()
    this.authorizer = authorizer
    this.resource = resource
  }

  with(change: Partial<CheckedResource>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.resource, ...change })
  }
}

class Decision extends Token {
  override readonly typeName = 'kubernetes.authorization.Decision'
  readonly answer: AuthorizationAnswer

  constructor(answer: AuthorizationAnswer) {
    super()
    this.answer = answer
  }
}

export const authorizerType = opaque<AuthorizerValue>('kubernetes.authorization.Authorizer')
export const resourceCheckType = opaque<ResourceCheck>('kubernetes.authorization.ResourceCheck')
const pathCheckType = opaque<PathCheck>('kubernetes.authorization.PathCheck')
const groupCheckType = opaque<GroupCheck>('kubernetes.authorization.GroupCheck')
const decisionType = opaque<Decision>('kubernetes.authorization.Decision')

/** Allows two checks per expression. */
const checkCost = (): number => 350_000

const withText = [resourceCheckType, stringType] as const

export const authorizerLibrary: Library = {
  overloads: [
    method('path', [authorizerType, stringType], pathCheckType, (authorizer, path) => {
      if (path.trim() === '') throw new Fault('path must not be empty')
      return new PathCheck(authorizer, path)
    }),
    method('group', [authorizerType, stringType], groupCheckType, (authorizer, group) => {
      return new GroupCheck(authorizer, group)
    }),
    method('serviceAccount', [authorizerType, stringType, stringType], authorizerType, serviceAccountOf),
    method('resource', [groupCheckType, stringType], resourceCheckType, ({ authorizer, group }, resource) => {
      if (resource.trim() === '') throw new Fault('resource must not be empty')
      return new ResourceCheck(authorizer, { group, resource })
    }),
    method('subresource', withText, resourceCheckType, (check, subresource) => check.with({ subresource })),
    method('namespace', withText, resourceCheckType, (check, namespace) => check.with({ namespace })),
    method('name', withText, resourceCheckType, (check, name) => check.with({ name })),
    method(
      'fieldSelector',
      withText,
      resourceCheckType,
      (check, rawSelector) => {
        return check.with({ fieldSelector: { rawSelector } })
      },
      { cost: (_, selector) => selectorCost(selector) },
    ),
    method(
      'labelSelector',
      withText,
      resourceCheckType,
      (check, rawSelector) => {
        return check.with({ labelSelector: { rawSelector } })
      },
      { cost: (_, selector) => selectorCost(selector) },
    ),
    method('check', [pathCheckType, stringType], decisionType, checkPath, { cost: checkCost }),
    method('check', withText, decisionType, checkResource, { cost: checkCost }),
    method('allowed', [decisionType], boolType, ({ answer }) => answer.decision === 'allow'),
    method('reason', [decisionType], stringType, ({ answer }) => answer.reason),
    method('errored', [decisionType], boolType, ({ answer }) => answer.error !== undefined),
    method('error', [decisionType], stringType, ({ answer }) => answer.error ?? ''),
  ],
}

/** Cost of parsing a selector: assumes one requirement for every two characters. */
function selectorCost({ length }: string): number {
  return 10 + Math.ceil(length * traversalFactor) + Math.ceil(length / 2) * 50
}

function serviceAccountOf(authorizer: AuthorizerValue, namespace: string, name: string): AuthorizerValue {
  if (checkDns1123Subdomain(name).length > 0) throw new Fault('Invalid service account name')
  if (checkDns1123Label(namespace).length > 0) throw new Fault('Invalid service account namespace')
  return new AuthorizerValue(authorizer.answers, { namespace, name })
}

function checkPath({ authorizer, path }: PathCheck, verb: string): Decision {
  return decide(authorizer, { isResource: false, verb, path })
}

function checkResource({ authorizer, resource }: ResourceCheck, verb: string): Decision {
  const { fieldSelector, labelSelector } = resource
  return decide(authorizer, {
    isResource: true,
    verb,
    group: resource.group,
    version: '*',
    resource: resource.resource,
    subresource: resource.subresource ?? '',
    namespace: resource.namespace ?? '',
    name: resource.name ?? '',
    ...(fieldSelector?.rawSelector && { fieldSelector }),
    ...(labelSelector?.rawSelector && { labelSelector }),
  })
}

function decide(
  { answers, serviceAccount }: AuthorizerValue,
  question: ResourceQuestion | PathQuestion,
): Decision {
  return new Decision(answers.answerTo(serviceAccount ? { ...question, serviceAccount } : question))
}
