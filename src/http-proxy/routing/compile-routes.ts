/** Prepares the virtual hosts of a listener for look-ups: indexed host names and compiled expressions. */
import {
  compileRegularExpression,
  RegularExpressionError,
  type RegularExpression,
} from '#/base/regular-expression.ts'
import { messageOf } from '#/base/message-of.ts'
import type { PathMatch, ProxyRoute, ValueMatch, VirtualHost } from '../proxy-configuration.ts'

export interface CompiledRoute {
  readonly route: ProxyRoute
  readonly matchesPath: (path: string) => boolean
  readonly headers: readonly CompiledValue[]
  readonly queryParameters: readonly CompiledValue[]
  /** Of all backends. */
  readonly totalWeight: number
  /** No filter applies, whatever backend is chosen. */
  readonly isPlain: boolean
}

export interface CompiledValue {
  readonly name: string
  readonly matches: (value: string) => boolean
}

export interface RoutingTable {
  /** The routes of the most specific virtual host for a host name; undefined without one. */
  routesOf(hostname: string): readonly CompiledRoute[] | undefined
}

export interface CompiledRoutes {
  readonly table: RoutingTable
  /** Routes that never match, because an expression is invalid. */
  readonly problems: readonly string[]
}

export function compileRoutes(virtualHosts: readonly VirtualHost[]): CompiledRoutes {
  const problems: string[] = []
  const exact = new Map<string, readonly CompiledRoute[]>()
  /** By the suffix with its leading dot. */
  const oneLabel = new Map<string, readonly CompiledRoute[]>()
  const anyLabels = new Map<string, readonly CompiledRoute[]>()
  let any: readonly CompiledRoute[] | undefined
  for (const { hostname, wildcard, routes } of virtualHosts) {
    const compiled = routes.map(route => compileRoute(route, problems))
    if (hostname === '*') any ??= compiled
    else if (!hostname.startsWith('*.')) addFirst(exact, hostname, compiled)
    else addFirst(wildcard === 'one-label' ? oneLabel : anyLabels, hostname.slice(1), compiled)
  }
  const hasWildcards = oneLabel.size + anyLabels.size > 0
  const routesOf = (hostname: string): readonly CompiledRoute[] | undefined => {
    const known = exact.get(hostname)
    if (known !== undefined || !hasWildcards) return known ?? any
    let dot = hostname.indexOf('.', 1)
    const one = dot === -1 ? undefined : oneLabel.get(hostname.slice(dot))
    if (one !== undefined) return one
    for (let dots = 0; dot !== -1 && dots < labelsMax; dot = hostname.indexOf('.', dot + 1), dots++) {
      const found = anyLabels.get(hostname.slice(dot))
      if (found !== undefined) return found
    }
    return any
  }
  return { table: { routesOf }, problems }
}

/** Labels of a host name (RFC 1035 allows 127). */
const labelsMax = 128

function addFirst<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value)
}

function compileRoute(route: ProxyRoute, problems: string[]): CompiledRoute {
  const { match, filters, backends } = route
  const parts = (): Pick<CompiledRoute, 'matchesPath' | 'headers' | 'queryParameters'> => ({
    matchesPath: compilePath(match.path),
    headers: match.headers.map(compileValue),
    queryParameters: match.queryParameters.map(compileValue),
  })
  let compiled
  try {
    compiled = parts()
  } catch (error) {
    problems.push(`route ${route.id}: ${messageOf(error)}`)
    compiled = { matchesPath: () => false, headers: [], queryParameters: [] }
  }
  return {
    route,
    ...compiled,
    totalWeight: backends.reduce((sum, { weight }) => sum + weight, 0),
    isPlain: filters.length === 0 && backends.every(each => each.filters.length === 0),
  }
}

/** A regular expression matches a whole path. */
function compilePath({ type, value }: PathMatch): (path: string) => boolean {
  if (type === 'exact') return path => path === value
  if (type === 'regular-expression') return wholeMatch(value)
  const prefix = value.endsWith('/') ? value.slice(0, -1) : value
  if (prefix === '') return () => true
  const { length } = prefix
  return path => path.startsWith(prefix) && (path.length === length || path.charCodeAt(length) === slash)
}

const slash = 0x2f

function compileValue({ name, type, value }: ValueMatch): CompiledValue {
  return { name, matches: type === 'exact' ? given => given === value : wholeMatch(value) }
}

/** An expression that takes too many steps does not match: the effort for one request is bounded. */
function wholeMatch(pattern: string): (text: string) => boolean {
  const expression: RegularExpression = compileRegularExpression(`^(?:${pattern})$`)
  return text => {
    try {
      return expression.test(text)
    } catch (error) {
      if (error instanceof RegularExpressionError) return false
      throw error
    }
  }
}
