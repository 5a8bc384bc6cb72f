import type { HeaderChange, PathRewrite, RouteFilter } from '#/http-proxy/proxy-configuration.ts'
import type { GRPCRoute } from '../gateway-api/grpc-route.ts'
import type { HTTPRoute } from '../gateway-api/http-route.ts'
import { resolveBackend, type BackendContext } from './backends.ts'
import type { Problem } from './conditions.ts'

type HttpFilter = NonNullable<HTTPRoute['spec']['rules'][number]['filters']>[number]
type GrpcFilter = NonNullable<NonNullable<GRPCRoute['spec']['rules']>[number]['filters']>[number]

/** Filters of both kinds; types that the API has later are possible, too. */
export type Filter = HttpFilter | GrpcFilter

export interface FiltersPlan {
  readonly filters: readonly RouteFilter[]
  /** The whole route cannot be accepted. */
  readonly refused: Problem | undefined
  /** A reference cannot be resolved. */
  readonly unresolved: Problem | undefined
}

export function planFilters(filters: readonly Filter[], context: BackendContext): FiltersPlan {
  const types = filters.map(({ type }) => type as string)
  if (types.includes('RequestRedirect') && types.includes('URLRewrite')) {
    const message = 'the filters RequestRedirect and URLRewrite cannot be used together'
    return { filters: [], refused: { reason: 'IncompatibleFilters', message }, unresolved: undefined }
  }
  const planned = filters.map(filter => planFilter(filter, context))
  return {
    filters: planned.flatMap(({ filter }) => (filter === undefined ? [] : [filter])),
    refused: planned.find(({ refused }) => refused)?.refused,
    unresolved: planned.find(({ unresolved }) => unresolved)?.unresolved,
  }
}

interface FilterPlan {
  readonly filter?: RouteFilter
  readonly refused?: Problem
  readonly unresolved?: Problem
}

function planFilter(filter: Filter, context: BackendContext): FilterPlan {
  const { type, requestHeaderModifier, responseHeaderModifier, requestMirror, extensionRef } = filter
  if (type === 'RequestHeaderModifier' && requestHeaderModifier)
    return { filter: { type: 'request-headers', change: headerChange(requestHeaderModifier) } }
  if (type === 'ResponseHeaderModifier' && responseHeaderModifier)
    return { filter: { type: 'response-headers', change: headerChange(responseHeaderModifier) } }
  if (type === 'RequestMirror' && requestMirror) return planMirror(requestMirror, context)
  if (type === 'RequestRedirect' && filter.requestRedirect)
    return { filter: redirect(filter.requestRedirect) }
  if (type === 'URLRewrite' && filter.urlRewrite) {
    const { hostname, path } = filter.urlRewrite
    return { filter: { type: 'rewrite', ...(hostname !== undefined && { hostname }), ...pathOf(path) } }
  }
  if (type === 'ExtensionRef') {
    const message = `the filter ExtensionRef ${extensionRef?.kind ?? ''} is not supported; requests get 500`
    // A filter of unknown effect, such as an authorization, must not be skipped.
    return { filter: { type: 'respond', status: 500 }, unresolved: { reason: 'InvalidKind', message } }
  }
  return {
    refused: { reason: 'UnsupportedValue', message: `filters of type ${type} are not supported` },
  }
}

interface HeaderFilter {
  readonly set?: readonly { readonly name: string; readonly value: string }[]
  readonly add?: readonly { readonly name: string; readonly value: string }[]
  readonly remove?: readonly string[]
}

/** Names are case-insensitive; of several equal ones the first is used. */
function headerChange({ set = [], add = [], remove = [] }: HeaderFilter): HeaderChange {
  return { set: firstByName(set), add: firstByName(add), remove: [...remove] }
}

function firstByName(
  headers: readonly { readonly name: string; readonly value: string }[],
): HeaderChange['set'] {
  const seen = new Set<string>()
  return headers
    .filter(({ name }) => {
      const isNew = !seen.has(name.toLowerCase())
      seen.add(name.toLowerCase())
      return isNew
    })
    .map(({ name, value }) => ({ name, value }))
}

type Mirror = NonNullable<HttpFilter['requestMirror']>

/** A mirror without a backend is dropped; the request itself is not affected. */
function planMirror({ backendRef, percent, fraction }: Mirror, context: BackendContext): FilterPlan {
  const { backend, problem } = resolveBackend(backendRef, context)
  if (backend === undefined) return problem === undefined ? {} : { unresolved: problem }
  const share = fraction === undefined ? percent : (fraction.numerator / fraction.denominator) * 100
  return { filter: { type: 'mirror', backend, percent: share ?? 100 } }
}

/** Scheme and port are completed for each listener: `completeRedirect`. */
function redirect(filter: NonNullable<HttpFilter['requestRedirect']>): RouteFilter {
  const { scheme, hostname, port, path, statusCode } = filter
  return {
    type: 'redirect',
    ...(scheme !== undefined && { scheme }),
    ...(hostname !== undefined && { hostname }),
    ...(port !== undefined && { port }),
    ...pathOf(path),
    status: statusCode,
  }
}

const wellKnownPorts = { http: 80, https: 443 } as const

/**
 * Without a port, a redirect goes to the well-known port of its scheme if it has one, and else to the port
 * of the listener, which is not the port that the proxy listens on.
 */
export function completeRedirect(
  filter: RouteFilter,
  listener: { readonly isTls: boolean; readonly port: number },
): RouteFilter {
  if (filter.type !== 'redirect') return filter
  const port = filter.port ?? (filter.scheme === undefined ? listener.port : wellKnownPorts[filter.scheme])
  return { ...filter, scheme: filter.scheme ?? (listener.isTls ? 'https' : 'http'), port }
}

interface PathModifier {
  readonly type: string
  readonly replaceFullPath?: string
  readonly replacePrefixMatch?: string
}

function pathOf(path: PathModifier | undefined): { readonly path?: PathRewrite } {
  if (path?.type === 'ReplaceFullPath') return { path: { type: 'full', value: path.replaceFullPath ?? '' } }
  if (path?.type === 'ReplacePrefixMatch')
    return { path: { type: 'prefix', value: path.replacePrefixMatch ?? '' } }
  return {}
}
