/**
 * Impersonation, and its authorization. The constrained modes (KEP-5284) each cover one type of user and the requested
 * action; the unconstrained `impersonate` verb comes last. The first mode that is allowed wins.
 * https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
 */
import { validateDomainPrefixedPath, checkDns1123Subdomain } from '#/api/names.ts'
import type { ApiError } from '#/api/errors.ts'
import {
  attributesOf,
  type Attributes,
  type Authorizer,
  type ResourceAttributes,
} from '../authz/authorizer.ts'
import type { RequestInfo } from '../request-info.ts'
import type { UserInfo, ApiResponse, RequestContext } from '../request.ts'
import { forbiddenError } from '../stages.ts'
import { anonymousName, authenticatedGroup, unauthenticatedGroup } from './authenticator.ts'
import { nodeName } from './extra-keys.ts'
import { readServiceAccountUsername, serviceAccountGroups } from './service-account-names.ts'
import type { Next, Stage } from '../pipeline.ts'
import { impersonatedUser, withoutImpersonation } from './impersonation-headers.ts'

/** The stage that executes the request as the impersonated user, if the requester is allowed to. */
export function impersonate(authorizer: Authorizer): Stage {
  const become = async (context: RequestContext, wanted: UserInfo, next: Next): Promise<ApiResponse> => {
    const { request, user: requester, info } = context
    const { user, constraint } = await checkImpersonation(authorizer, { requester, wanted, info })
    context.user = user
    context.impersonation = { requester, constraint }
    context.request = withoutImpersonation(request)
    return next(context)
  }
  return (context, next) => {
    const wanted = impersonatedUser(context.request)
    return wanted === undefined ? next(context) : become(context, wanted, next)
  }
}

export interface ImpersonationRequest {
  readonly requester: UserInfo
  readonly wanted: UserInfo
  readonly info: RequestInfo
}

export interface Impersonated {
  readonly user: UserInfo
  /** The verb that allowed it; empty for unconstrained impersonation. */
  readonly constraint: string
}

/** Throws ApiError 403 with the reason of the first applicable mode. */
async function checkImpersonation(
  authorizer: Authorizer,
  request: ImpersonationRequest,
): Promise<Impersonated> {
  let failure: ApiError | undefined
  for (const mode of modes) {
    if (!mode.isFor(request)) continue
    const result = await tryMode(authorizer, mode, request)
    if ('user' in result) return result
    failure ??= result.failure
  }
  throw failure!
}

interface ImpersonationMode {
  /** Absent for unconstrained impersonation. */
  readonly name?: string
  isFor(request: ImpersonationRequest): boolean
}

const modes: readonly ImpersonationMode[] = [
  {
    name: 'associated-node',
    isFor: ({ wanted, requester }) => isNameAlone(wanted) && isOnNode(requester, wanted.username),
  },
  {
    name: 'arbitrary-node',
    isFor: ({ wanted }) => isNameAlone(wanted) && nodeOf(wanted.username) !== undefined,
  },
  {
    name: 'serviceaccount',
    isFor: ({ wanted }) => isNameAlone(wanted) && readServiceAccountUsername(wanted.username) !== undefined,
  },
  {
    name: 'user-info',
    isFor: ({ wanted: { username } }) => {
      return nodeOf(username) === undefined && readServiceAccountUsername(username) === undefined
    },
  },
  { isFor: () => true },
]

type ModeResult = Impersonated | { readonly failure: ApiError }

async function tryMode(
  authorizer: Authorizer,
  { name }: ImpersonationMode,
  request: ImpersonationRequest,
): Promise<ModeResult> {
  const { wanted, info } = request
  const requester = name === 'associated-node' ? withoutExtra(request.requester) : request.requester
  const verb = name === undefined ? 'impersonate' : `impersonate:${name}`
  if (name !== undefined) {
    const unsafe = whyUnsafe(wanted, attributes(requester, { verb, resource: 'groups' }))
    const doing = attributesOf(requester, info)
    const verbOn = `impersonate-on:${name}:${info.verb}`
    const failure = (await whyNot(authorizer, { ...doing, verb: verbOn })) ?? unsafe
    if (failure) return { failure }
  }
  const isUnconstrained = name === undefined
  const subject = subjectAttributes(requester, wanted.username, { verb, name })
  const checks: Attributes[][] = [
    [subject],
    wanted.uid ? [attributes(requester, { verb, resource: 'uids', name: wanted.uid })] : [],
    wanted.groups.map(group =>
      attributes(requester, { verb, resource: 'groups', name: group, isUnconstrained }),
    ),
    Object.entries(wanted.extra ?? {}).flatMap(([key, values]) =>
      values.map(value => {
        return attributes(requester, { verb, resource: 'userextras', subresource: key, name: value })
      }),
    ),
  ]
  for (const group of checks) {
    const failure = await whyNotAll(authorizer, group, name !== undefined)
    if (failure) return { failure }
  }
  return { user: withGroups(wanted, name), constraint: name === undefined ? '' : verb }
}

/** Number of checks from which the wildcard permission is checked first. */
const manyChecks = 4

async function whyNotAll(
  authorizer: Authorizer,
  all: readonly Attributes[],
  asksForAll: boolean,
): Promise<ApiError | undefined> {
  const [first] = all
  if (first === undefined) return undefined
  if (asksForAll && all.length >= manyChecks && first.isResource) {
    const everything = { ...first, name: '*', ...(first.subresource !== '' && { subresource: '*' }) }
    if ((await whyNot(authorizer, everything)) === undefined) return undefined
  }
  for (const each of all) {
    const failure = await whyNot(authorizer, each)
    if (failure) return failure
  }
  return undefined
}

async function whyNot(authorizer: Authorizer, asked: Attributes): Promise<ApiError | undefined> {
  const { decision, reason } = await authorizer.authorize(asked)
  return decision === 'allow' ? undefined : forbiddenError(asked, reason)
}

interface Asked {
  readonly verb: string
  readonly resource: string
  readonly subresource?: string
  readonly name?: string
  /**
   * Unconstrained impersonation checks users and groups in the core API group, not in authentication.k8s.io.
   */
  readonly isUnconstrained?: boolean
}

function attributes(
  user: UserInfo,
  { verb, resource, subresource = '', name = '', isUnconstrained = false }: Asked,
): Attributes & ResourceAttributes {
  const group = isUnconstrained ? '' : 'authentication.k8s.io'
  return { user, isResource: true, verb, group, version: 'v1', resource, subresource, namespace: '', name }
}

function subjectAttributes(
  requester: UserInfo,
  username: string,
  mode: { readonly verb: string; readonly name?: string },
): Attributes {
  const { verb, name: modeName } = mode
  const isUnconstrained = modeName === undefined
  const node = isUnconstrained ? undefined : nodeOf(username)
  if (node !== undefined) {
    // In this mode the node is always that of the requester.
    const name = modeName === 'associated-node' ? '*' : node
    return attributes(requester, { verb, resource: 'nodes', name })
  }
  const account = readServiceAccountUsername(username)
  if (account === undefined)
    return attributes(requester, { verb, resource: 'users', name: username, isUnconstrained })
  return {
    ...attributes(requester, { verb, resource: 'serviceaccounts', name: account.name, isUnconstrained }),
    namespace: account.namespace,
  }
}

/** Users, groups and extras that the constrained modes never allow, regardless of permissions. */
function whyUnsafe(
  { groups, extra = {} }: UserInfo,
  asked: Attributes & ResourceAttributes,
): ApiError | undefined {
  if (groups.includes('')) return forbiddenError(asked, 'impersonating the empty string group is not allowed')
  if (groups.includes('system:masters')) {
    const about = { ...asked, name: 'system:masters' }
    return forbiddenError(about, 'impersonating the system:masters group is not allowed')
  }
  const about = { ...asked, resource: 'userextras' }
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return forbiddenError(about, 'impersonating the empty string key in extra is not allowed')
    const [wrong] = validateDomainPrefixedPath('extra.key', key)
    if (wrong) {
      const why = `${wrong.field}: ${wrong.detail}`
      return forbiddenError(about, `impersonating an invalid key in extra is not allowed: ${why}`)
    }
    if (key !== key.toLowerCase()) {
      return forbiddenError(about, `impersonating a non-lowercase key in extra is not allowed: "${key}"`)
    }
    if (values.includes('')) {
      return forbiddenError(about, 'impersonating the empty string value in extra is not allowed')
    }
  }
  return undefined
}

function withGroups(wanted: UserInfo, mode: string | undefined): UserInfo {
  const { username } = wanted
  const account = readServiceAccountUsername(username)
  const isNode = mode !== undefined && nodeOf(username) !== undefined
  const given =
    wanted.groups.length > 0
      ? wanted.groups
      : account
        ? serviceAccountGroups(account.namespace)
        : isNode
          ? ['system:nodes']
          : []
  const wide = username === anonymousName ? unauthenticatedGroup : authenticatedGroup
  const isPlaced = given.includes(wide) || given.includes(unauthenticatedGroup)
  return { ...wanted, groups: isPlaced ? given : [...given, wide] }
}

/**
 * Replaces the requester's extra values by their keys: the node has been checked already, and its values
 * would make cached authorization decisions differ per node.
 */
function withoutExtra(requester: UserInfo): UserInfo {
  const keys = Object.keys(requester.extra ?? {}).sort()
  return { ...requester, extra: { 'authentication.kubernetes.io/associated-node-keys': keys } }
}

function isNameAlone({ uid, groups, extra }: UserInfo): boolean {
  return uid === undefined && groups.length === 0 && extra === undefined
}

function isOnNode(requester: UserInfo, username: string): boolean {
  const names = requester.extra?.[nodeName] ?? []
  return (
    names.length === 1 &&
    names[0] === nodeOf(username) &&
    readServiceAccountUsername(requester.username) !== undefined
  )
}

/** Undefined if the name is not a valid node user name. */
function nodeOf(username: string): string | undefined {
  const name = /^system:node:(.*)$/s.exec(username)?.[1]
  return name === undefined || checkDns1123Subdomain(name).length > 0 ? undefined : name
}
