import { compileRegularExpression, RegularExpressionError } from '#/base/regular-expression.ts'
import type { PathMatch, RouteMatch, ValueMatch } from '#/http-proxy/proxy-configuration.ts'
import type { GRPCRoute } from '../gateway-api/grpc-route.ts'
import type { HTTPRoute } from '../gateway-api/http-route.ts'
import type { Problem } from './conditions.ts'

export interface MatchPlan {
  readonly match: RouteMatch
  /** Precedence: compared number by number, greater first. */
  readonly precedence: readonly number[]
}

export interface MatchesPlan {
  readonly matches: readonly MatchPlan[]
  readonly refused: Problem | undefined
}

type HttpMatches = HTTPRoute['spec']['rules'][number]['matches']
type GrpcMatches = NonNullable<GRPCRoute['spec']['rules']>[number]['matches']

/**
 * Plans by the immutable matches of a rule: endpoints of backends change more often than routes, and checking
 * regular expressions is expensive.
 */
const planned = new WeakMap<object, MatchesPlan>()

/** A rule without matches matches all requests. */
export function planHttpMatches(matches: HttpMatches): MatchesPlan {
  const known = planned.get(matches)
  if (known !== undefined) return known
  const unknown = matches.find(({ path }) => !Object.hasOwn(pathTypes, path.type))
  const plan =
    unknown === undefined
      ? checked(matches.length === 0 ? [everyRequest] : matches.map(planHttpMatch))
      : refused(`paths of type ${unknown.path.type} are not supported`)
  planned.set(matches, plan)
  return plan
}

const everyRequest: MatchPlan = {
  match: { path: { type: 'prefix', value: '/' }, headers: [], queryParameters: [] },
  precedence: [0, 1, 0, 0, 0],
}

const pathTypes = {
  Exact: { type: 'exact', precedence: 2 },
  RegularExpression: { type: 'regular-expression', precedence: 1 },
  PathPrefix: { type: 'prefix', precedence: 0 },
} as const

/** Exact path, longest prefix, method, number of headers, number of query parameters. */
function planHttpMatch({ path, method, headers = [], queryParams = [] }: HttpMatches[number]): MatchPlan {
  const { type, precedence } = pathTypes[path.type]
  const value = type === 'regular-expression' ? anchored(path.value) : path.value
  const ownHeaders = valueMatches(headers, name => name.toLowerCase())
  const queryParameters = valueMatches(queryParams, name => name)
  return {
    match: {
      path: { type, value },
      ...(method !== undefined && { method }),
      headers: ownHeaders,
      queryParameters,
    },
    precedence: [
      precedence,
      path.value.length,
      method === undefined ? 0 : 1,
      ownHeaders.length,
      queryParameters.length,
    ],
  }
}

export function planGrpcMatches(matches: GrpcMatches): MatchesPlan {
  if (matches === undefined || matches.length === 0) return checked([everyCall])
  const known = planned.get(matches)
  if (known !== undefined) return known
  const plan = checked(matches.map(planGrpcMatch))
  planned.set(matches, plan)
  return plan
}

const everyCall: MatchPlan = { ...everyRequest, precedence: [0, 0, 0] }

/** Length of the service, length of the method, number of headers. */
function planGrpcMatch({ method, headers = [] }: NonNullable<GrpcMatches>[number]): MatchPlan {
  const ownHeaders = valueMatches(headers, name => name.toLowerCase())
  return {
    match: { path: grpcPath(method), headers: ownHeaders, queryParameters: [] },
    precedence: [method?.service?.length ?? 0, method?.method?.length ?? 0, ownHeaders.length],
  }
}

/** The path of a call is `/package.Service/Method`. */
function grpcPath(match: NonNullable<GrpcMatches>[number]['method']): PathMatch {
  const { service = '', method = '', type = 'Exact' } = match ?? {}
  if (service === '' && method === '') return everyRequest.match.path
  if (type === 'RegularExpression') {
    const part = (pattern: string): string => (pattern === '' ? '[^/]+' : `(?:${pattern})`)
    return { type: 'regular-expression', value: `^/${part(service)}/${part(method)}$` }
  }
  if (method === '') return { type: 'prefix', value: `/${service}` }
  if (service === '') return { type: 'regular-expression', value: `^/[^/]+/${method}$` }
  return { type: 'exact', value: `/${service}/${method}` }
}

interface NamedMatch {
  readonly type: 'Exact' | 'RegularExpression'
  readonly name: string
  readonly value: string
}

/** Of several matches of one name only the first is used. */
function valueMatches(
  matches: readonly NamedMatch[],
  nameOf: (name: string) => string,
): readonly ValueMatch[] {
  const byName = new Map<string, ValueMatch>()
  for (const { type, name: written, value } of matches) {
    const name = nameOf(written)
    if (byName.has(name)) continue
    byName.set(
      name,
      type === 'Exact'
        ? { name, type: 'exact', value }
        : { name, type: 'regular-expression', value: anchored(value) },
    )
  }
  return [...byName.values()]
}

/** Regular expressions match whole values. */
function anchored(pattern: string): string {
  return `^(?:${pattern})$`
}

function checked(matches: readonly MatchPlan[]): MatchesPlan {
  for (const { match } of matches) {
    for (const { type, value } of [match.path, ...match.headers, ...match.queryParameters]) {
      const error = type === 'regular-expression' ? regularExpressionError(value) : undefined
      if (error === undefined) continue
      return refused(`regular expression ${value}: ${error}`)
    }
  }
  return { matches, refused: undefined }
}

function refused(message: string): MatchesPlan {
  return { matches: [], refused: { reason: 'UnsupportedValue', message } }
}

function regularExpressionError(pattern: string): string | undefined {
  try {
    compileRegularExpression(pattern)
    return undefined
  } catch (error) {
    if (error instanceof RegularExpressionError) return error.message
    throw error
  }
}
