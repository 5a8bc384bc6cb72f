/** Decides what happens with a request on its route: a response of the proxy, or a request to a backend. */
import { isFieldValue, isToken } from '../message/field-name.ts'
import { hostnameOf, isTarget } from '../message/target.ts'
import { withoutField, type Fields } from '../message/head.ts'
import type { HeaderChange, PathRewrite, ProxyRoute, RouteFilter } from '../proxy-configuration.ts'
import type { CompiledRoute } from './compile-routes.ts'
import type { MatchedRequest } from './match-route.ts'

export interface PlannedRequest extends MatchedRequest {
  /** As sent, with the port. */
  readonly authority: string
  readonly scheme: 'http' | 'https'
  /** Of the listener. */
  readonly port: number
}

export type RequestPlan =
  | { readonly type: 'respond'; readonly status: number; readonly fields: Fields }
  | ForwardPlan

export interface ForwardPlan {
  readonly type: 'forward'
  readonly backend: string
  readonly target: string
  readonly authority: string
  readonly fields: Fields
  readonly responseChanges: readonly HeaderChange[]
  /** Backends that get a copy. */
  readonly mirrors: readonly string[]
}

/** `draw` returns a number in [0, 1). */
export function planRequest(
  compiled: CompiledRoute,
  request: PlannedRequest,
  draw: () => number,
): RequestPlan {
  const { route, isPlain } = compiled
  const chosen = chooseBackend(compiled, draw)
  if (isPlain) {
    if (chosen?.backend === undefined) return internalError
    const { target, authority, fields } = request
    return {
      type: 'forward',
      backend: chosen.backend,
      target,
      authority,
      fields: fields as Fields,
      ...unchanged,
    }
  }
  let { target, authority, fields } = request
  const responseChanges: HeaderChange[] = []
  const mirrors: string[] = []
  for (const filter of [...route.filters, ...(chosen?.filters ?? [])]) {
    switch (filter.type) {
      case 'request-headers':
        fields = changeFields(fields, filter.change)
        break
      case 'response-headers':
        responseChanges.push(filter.change)
        break
      case 'redirect': {
        const location = redirectLocation(filter, request, route)
        if (!isFieldValue(location)) return internalError
        const moved: Fields = ['location', location]
        return { type: 'respond', status: filter.status, fields: applyChanges(moved, responseChanges) }
      }
      case 'rewrite':
        authority = filter.hostname ?? authority
        if (filter.path) target = rewritePath(filter.path, request, route)
        break
      case 'mirror':
        if (draw() * 100 < filter.percent) mirrors.push(filter.backend)
        break
      case 'respond':
        return { type: 'respond', status: filter.status, fields: applyChanges([], responseChanges) }
    }
  }
  const isValid = isTarget(target) && hostnameOf(authority) !== undefined
  if (chosen?.backend === undefined || !isValid) return internalError
  const { backend } = chosen
  return { type: 'forward', backend, target, authority, fields: fields as Fields, responseChanges, mirrors }
}

const unchanged = { responseChanges: [], mirrors: [] } as const
const internalError: RequestPlan = { type: 'respond', status: 500, fields: [] }

function chooseBackend({ route, totalWeight }: CompiledRoute, draw: () => number) {
  const { backends } = route
  if (totalWeight <= 0) return undefined
  const first = backends[0]!
  if (first.weight === totalWeight) return first
  let rest = draw() * totalWeight
  for (const each of backends) {
    rest -= each.weight
    if (rest < 0) return each
  }
  return backends.findLast(({ weight }) => weight > 0)
}

export function applyChanges(fields: Fields, changes: readonly HeaderChange[]): Fields {
  let changed = fields
  for (const change of changes) changed = changeFields(changed, change)
  return changed
}

/** Names and values that are not valid in HTTP are left out. */
function changeFields(fields: readonly string[], { set, add, remove }: HeaderChange): Fields {
  let changed = [...fields]
  for (const name of [...remove, ...set.map(each => each.name)])
    changed = withoutField(changed, name.toLowerCase())
  for (const { name, value } of [...set, ...add])
    if (isToken(name) && isFieldValue(value)) changed.push(name.toLowerCase(), value)
  return changed
}

function redirectLocation(
  filter: RouteFilter & { readonly type: 'redirect' },
  request: PlannedRequest,
  route: ProxyRoute,
): string {
  const scheme = filter.scheme ?? request.scheme
  const port = filter.port ?? (filter.scheme === undefined ? request.port : usualPorts[scheme])
  const path = filter.path ? rewritePath(filter.path, request, route) : request.target
  const hostname = filter.hostname ?? request.hostname
  return `${scheme}://${hostname}${port === usualPorts[scheme] ? '' : `:${port}`}${path}`
}

const usualPorts = { http: 80, https: 443 } as const

/** The new path with the query of the request. */
function rewritePath(
  { type, value }: PathRewrite,
  { target, path }: PlannedRequest,
  route: ProxyRoute,
): string {
  const query = target.slice(path.length)
  if (type === 'full') return value + query
  const { match } = route
  const prefix = match.path.type === 'prefix' ? match.path.value.replace(/\/$/, '') : ''
  const rest = path.slice(prefix.length)
  const start = value.endsWith('/') ? value.slice(0, -1) : value
  const joined = rest === '' ? value : start + (rest.startsWith('/') ? rest : `/${rest}`)
  return (joined === '' ? '/' : joined) + query
}
