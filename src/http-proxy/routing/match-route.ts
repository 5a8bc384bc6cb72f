import type { CompiledRoute, CompiledValue, RoutingTable } from './compile-routes.ts'

export interface MatchedRequest {
  readonly method: string
  readonly hostname: string
  readonly path: string
  /** Path and query. */
  readonly target: string
  readonly fields: readonly string[]
}

/** The first matching route of the most specific virtual host for the host of the request. */
export function matchRoute(table: RoutingTable, request: MatchedRequest): CompiledRoute | undefined {
  const routes = table.routesOf(request.hostname)
  if (routes === undefined) return undefined
  const { path, method } = request
  for (const compiled of routes) {
    if (!compiled.matchesPath(path)) continue
    const { match } = compiled.route
    if (match.method !== undefined && match.method !== method) continue
    if (compiled.headers.length > 0 && !matchesHeaders(compiled.headers, request.fields)) continue
    if (compiled.queryParameters.length > 0 && !matchesQuery(compiled.queryParameters, request)) continue
    return compiled
  }
  return undefined
}

/** The values of a repeated header count as one list. */
function matchesHeaders(wanted: readonly CompiledValue[], fields: readonly string[]): boolean {
  return wanted.every(({ name, matches }) => {
    let value: string | undefined
    for (let index = 0; index < fields.length; index += 2) {
      if (fields[index] !== name) continue
      value = value === undefined ? fields[index + 1]! : `${value},${fields[index + 1]}`
    }
    return value !== undefined && matches(value)
  })
}

/** Of a repeated parameter the first value counts. */
function matchesQuery(wanted: readonly CompiledValue[], { target, path }: MatchedRequest): boolean {
  const parameters = new URLSearchParams(target.slice(path.length))
  return wanted.every(({ name, matches }) => {
    const value = parameters.get(name)
    return value !== null && matches(value)
  })
}
