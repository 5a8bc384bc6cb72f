/**
 * Authorization checks in expressions:
 * `authorizer.group("apps").resource("deployments").check("get").allowed()`. Evaluation is synchronous, but
 * an authorizer may have to call another server. So a check without a decision aborts the evaluation with a
 * `Suspension`; when the decision has arrived the expression is evaluated again and finds it (`withDecisions`
 * does both). This is sound because expressions have no side effects, and terminates because each round adds
 * a decision and the cost limit allows only a few checks.
 */
import { messageOf } from '#/base/message-of.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '#/api/names.ts'
import { traversalFactor } from './cost.ts'
import { estimateTraversal, exactly, scale, sum, type Estimate, type Operand } from './estimate.ts'
import { Fault } from './fault.ts'
import { method, type Library } from './function.ts'
import { boolType, opaque, stringType } from './type.ts'
import { OpaqueValue } from './value.ts'

/** An authorization check. Without a service account it is for the user of the request. */
export type AuthorizationCheck = { readonly serviceAccount?: ServiceAccountName } & (
  | ResourceAttributes
  | NonResourceAttributes
)

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

export interface ResourceAttributes {
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

export interface NonResourceAttributes {
  readonly isResource: false
  readonly verb: string
  readonly path: string
}

export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'no opinion'
  readonly reason: string
  readonly error?: string
}

export type Authorize = (check: AuthorizationCheck) => Promise<AuthorizationDecision> | AuthorizationDecision

/** Aborts the evaluation until this has settled. It is not a `Fault`, so no operator absorbs it. */
export class Suspension {
  readonly settled: Promise<void>

  constructor(settled: Promise<void>) {
    this.settled = settled
  }
}

/** Cache of the authorization checks of one request; each check is made once. */
export class AuthorizationDecisions {
  readonly #authorize: Authorize
  readonly #decisions = new Map<string, AuthorizationDecision | Suspension>()

  constructor(authorize: Authorize) {
    this.#authorize = authorize
  }

  /** Throws a Suspension if the decision is pending. */
  decisionOn(check: AuthorizationCheck): AuthorizationDecision {
    const key = JSON.stringify(check)
    const known = this.#decisions.get(key) ?? this.#authorizeOnce(key, check)
    if (known instanceof Suspension) throw known
    return known
  }

  #authorizeOnce(key: string, check: AuthorizationCheck): AuthorizationDecision | Suspension {
    const decision = this.#authorize(check)
    const known = decision instanceof Promise ? new Suspension(this.#store(key, decision)) : decision
    this.#decisions.set(key, known)
    return known
  }

  async #store(key: string, decision: Promise<AuthorizationDecision>): Promise<void> {
    try {
      this.#decisions.set(key, await decision)
    } catch (error) {
      const message = messageOf(error)
      this.#decisions.set(key, { decision: 'no opinion', reason: '', error: message })
    }
  }
}

/**
 * Evaluates until no decision is missing; synchronous if none is. `evaluate` is run from the start each time
 * and must use a new budget each time.
 */
export function withDecisions<T>(evaluate: () => T): T | Promise<T> {
  try {
    return evaluate()
  } catch (error) {
    if (!(error instanceof Suspension)) throw error
    return error.settled.then(() => withDecisions(evaluate))
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
  readonly decisions: AuthorizationDecisions
  readonly serviceAccount: ServiceAccountName | undefined

  constructor(decisions: AuthorizationDecisions, serviceAccount?: ServiceAccountName) {
    super()
    this.decisions = decisions
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
export type CheckedResource = Pick<ResourceAttributes, 'group' | 'resource'> &
  Partial<Pick<ResourceAttributes, 'subresource' | 'namespace' | 'name' | 'fieldSelector' | 'labelSelector'>>

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
  readonly decision: AuthorizationDecision

  constructor(decision: AuthorizationDecision) {
    super()
    this.decision = decision
  }
}

export const authorizerType = opaque<AuthorizerValue>('kubernetes.authorization.Authorizer')
export const resourceCheckType = opaque<ResourceCheck>('kubernetes.authorization.ResourceCheck')
const pathCheckType = opaque<PathCheck>('kubernetes.authorization.PathCheck')
const groupCheckType = opaque<GroupCheck>('kubernetes.authorization.GroupCheck')
const decisionType = opaque<Decision>('kubernetes.authorization.Decision')

/** Allows two checks per expression. */
const checkCost = 350_000
const byCheck = { cost: () => checkCost, estimatedCost: () => exactly(checkCost) }

const bySelector = {
  cost: (_: ResourceCheck, selector: string) => selectorCost(selector),
  estimatedCost: (_: Operand, selector: Operand) => estimateSelector(selector),
}

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
      bySelector,
    ),
    method(
      'labelSelector',
      withText,
      resourceCheckType,
      (check, rawSelector) => {
        return check.with({ labelSelector: { rawSelector } })
      },
      bySelector,
    ),
    method('check', [pathCheckType, stringType], decisionType, checkPath, byCheck),
    method('check', withText, decisionType, checkResource, byCheck),
    method('allowed', [decisionType], boolType, ({ decision }) => decision.decision === 'allow'),
    method('reason', [decisionType], stringType, ({ decision }) => decision.reason),
    method('errored', [decisionType], boolType, ({ decision }) => decision.error !== undefined),
    method('error', [decisionType], stringType, ({ decision }) => decision.error ?? ''),
  ],
}

const selectorCostMin = 10
const requirementCost = 50
/** Assumes one requirement for every two characters. */
const requirementsPerCharacter = 0.5

/** Cost of parsing a selector. */
function selectorCost({ length }: string): number {
  const requirements = Math.ceil(length * requirementsPerCharacter)
  return selectorCostMin + Math.ceil(length * traversalFactor) + requirements * requirementCost
}

function estimateSelector(selector: Operand): Estimate {
  const requirements = scale(selector.size, requirementsPerCharacter)
  return sum(exactly(selectorCostMin), estimateTraversal(selector), scale(requirements, requirementCost))
}

function serviceAccountOf(authorizer: AuthorizerValue, namespace: string, name: string): AuthorizerValue {
  if (checkDns1123Subdomain(name).length > 0) throw new Fault('Invalid service account name')
  if (checkDns1123Label(namespace).length > 0) throw new Fault('Invalid service account namespace')
  return new AuthorizerValue(authorizer.decisions, { namespace, name })
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
  { decisions, serviceAccount }: AuthorizerValue,
  check: ResourceAttributes | NonResourceAttributes,
): Decision {
  return new Decision(decisions.decisionOn(serviceAccount ? { ...check, serviceAccount } : check))
}
