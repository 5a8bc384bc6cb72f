/**
 * Objects of the Gateway API in a compact notation, and plans as lines of text.
 *
 * Listener: `name PROTOCOL:port [hostname] [from=All] [kinds=GRPCRoute,...] [cert=[namespace.]secret,...]`.
 * Rule: `match | match -> backend backend*weight`, a match being `/prefix`, `=/exact` or `~regex` for the
 * path, `GET`, `name=value` for headers (`name~regex`), `?name=value` for query parameters; a backend is
 * `[namespace.]service:port`.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Stored, StoredMeta } from '#/api/metadata.ts'
import type { ProxyConfiguration, RouteMatch } from '#/http-proxy/proxy-configuration.ts'
import { gatewayControllerName } from './gateway-api.ts'
import { gatewayClasses, type GatewayClass } from './gateway-api/gateway-class.ts'
import { gateways, type Gateway } from './gateway-api/gateway.ts'
import { grpcRoutes, type GRPCRoute } from './gateway-api/grpc-route.ts'
import { httpRoutes, type HTTPRoute } from './gateway-api/http-route.ts'
import { referenceGrants, type ReferenceGrant } from './gateway-api/reference-grant.ts'
import type { GatewayPlan } from './plan-gateways.ts'
import type { PlannedCondition } from './plan/conditions.ts'
import type { GatewayWorld } from './plan/world.ts'

/** `namespace/name`, in the namespace `default` without one; `age` is in days. */
export function metadataOf(key: string, age = 1): StoredMeta & { namespace: string } {
  const [name = '', namespace = 'default'] = key.split('/').toReversed()
  const creationTimestamp = new Date(Date.UTC(2030, 0, 100 - age)).toISOString()
  return {
    name,
    namespace,
    uid: `uid-${namespace}-${name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp,
  }
}

function gatewayClass(spec: Partial<GatewayClass['spec']> = {}): Stored<GatewayClass> {
  const { namespace: _, ...metadata } = metadataOf('k8ts')
  return gatewayClasses.withDefaults({
    metadata,
    spec: { controllerName: gatewayControllerName, ...spec },
  })
}

export function gateway(
  key: string,
  listeners: readonly string[],
  spec: Partial<Gateway['spec']> = {},
): Stored<Gateway> {
  return gateways.withDefaults({
    metadata: metadataOf(key),
    spec: { gatewayClassName: 'k8ts', listeners: listeners.map(listenerOf), ...spec },
  })
}

type ListenerInput = Parameters<typeof gateways.withDefaults>[0]['spec']['listeners'][number]

function listenerOf(text: string): ListenerInput {
  const [name = '', at = '', ...rest] = text.split(' ')
  const [protocol = '', port] = at.split(':')
  const option = (key: string): string | undefined => {
    return rest.find(each => each.startsWith(`${key}=`))?.slice(key.length + 1)
  }
  const hostname = rest.find(each => !each.includes('='))
  const [from = 'Same', label] = (option('from') ?? 'Same').split('@')
  const kinds = option('kinds')?.split(',')
  const certs = option('cert')?.split(',')
  return {
    name,
    protocol,
    port: Number(port),
    ...(hostname !== undefined && { hostname }),
    allowedRoutes: {
      namespaces: {
        from: from as 'All' | 'Same' | 'Selector',
        ...(label !== undefined && { selector: { matchLabels: { team: label } } }),
      },
      ...(kinds && { kinds: kinds.map(kind => ({ kind })) }),
    },
    ...(certs && { tls: { certificateRefs: certs.map(nameOf) } }),
  }
}

/** `namespace.name` */
function nameOf(text: string): { readonly name: string; readonly namespace?: string } {
  const [name = '', namespace] = text.split('.').toReversed()
  return { name, ...(namespace !== undefined && { namespace }) }
}

export interface RouteOptions {
  /** Separated by spaces: `[namespace.]gateway[/listener][:port]`; default `gw`. */
  readonly parents?: string
  readonly hosts?: string
  /** In days. */
  readonly age?: number
}

type HttpRuleInput = NonNullable<Parameters<typeof httpRoutes.withDefaults>[0]['spec']['rules']>[number]
type GrpcRuleInput = NonNullable<Parameters<typeof grpcRoutes.withDefaults>[0]['spec']['rules']>[number]

export function httpRoute(
  key: string,
  rules: readonly (string | HttpRuleInput)[],
  options: RouteOptions = {},
): Stored<HTTPRoute> {
  return httpRoutes.withDefaults({
    metadata: metadataOf(key, options.age),
    spec: {
      ...commonSpec(options),
      rules: rules.map(rule => (typeof rule === 'string' ? httpRule(rule) : rule)),
    },
  })
}

export function grpcRoute(
  key: string,
  rules: readonly GrpcRuleInput[],
  options: RouteOptions = {},
): Stored<GRPCRoute> {
  return grpcRoutes.withDefaults({
    metadata: metadataOf(key, options.age),
    spec: { ...commonSpec(options), rules },
  })
}

function commonSpec({ parents = 'gw', hosts }: RouteOptions) {
  return {
    parentRefs: parents.split(' ').map(text => {
      const [, path = '', port] = /^([^:]*)(?::(\d+))?$/.exec(text) ?? []
      const [name = '', sectionName] = path.split('/')
      return {
        ...nameOf(name),
        ...(sectionName && { sectionName }),
        ...(port !== undefined && { port: Number(port) }),
      }
    }),
    ...(hosts !== undefined && { hostnames: hosts.split(' ') }),
  }
}

function httpRule(text: string): HttpRuleInput {
  const [matches = '', backends = ''] = text.split('->').map(each => each.trim())
  return {
    matches: matches.split('|').map(each => httpMatch(each.trim())),
    ...(backends !== '' && { backendRefs: backends.split(' ').map(backendRef) }),
  }
}

export function backendRef(text: string) {
  const [, name = '', port, weight] = /^([^:]*):(\d+)(?:\*(\d+))?$/.exec(text) ?? []
  return { ...nameOf(name), port: Number(port), ...(weight !== undefined && { weight: Number(weight) }) }
}

type MatchInput = NonNullable<HttpRuleInput['matches']>[number]

function httpMatch(text: string): MatchInput {
  const match: MatchInput = {}
  for (const part of text.split(' ')) Object.assign(match, matchPart(part, match))
  return match
}

function matchPart(part: string, { headers = [], queryParams = [] }: MatchInput): MatchInput {
  if (part.startsWith('/')) return { path: { value: part } }
  if (part.startsWith('=')) return { path: { type: 'Exact', value: part.slice(1) } }
  if (part.startsWith('~')) return { path: { type: 'RegularExpression', value: part.slice(1) } }
  if (/^[A-Z]+$/.test(part)) return { method: part as 'GET' }
  const [, query, name = '', operator, value = ''] = /^(\??)([^=~]+)([=~])(.*)$/.exec(part) ?? []
  const type = operator === '~' ? 'RegularExpression' : 'Exact'
  return query === '?'
    ? { queryParams: [...queryParams, { type, name, value }] }
    : { headers: [...headers, { type, name, value }] }
}

/** `namespace: Kind namespace -> Kind [name]` */
export function referenceGrant(text: string): Stored<ReferenceGrant> {
  const [, namespace, from = '', fromNamespace = '', to = '', name] =
    /^(\S+): (\S+) (\S+) -> (\S+)(?: (\S+))?$/.exec(text) ?? []
  return referenceGrants.withDefaults({
    metadata: metadataOf(`${namespace}/${from}-${to}-${name}`.toLowerCase()),
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: from, namespace: fromNamespace }],
      to: [{ group: '', kind: to, ...(name !== undefined && { name }) }],
    },
  })
}

/** A Service with one endpoint for each address. */
export function service(
  key: string,
  { port = 80, addresses = ['10.0.0.1'], spec = {}, appProtocol }: ServiceOptions = {},
): readonly [Service, EndpointSlice] {
  const metadata = metadataOf(key)
  const made: Service = {
    metadata,
    spec: { ports: [{ port, protocol: 'TCP', ...(appProtocol && { appProtocol }) }], ...spec },
  }
  const slice: EndpointSlice = {
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints: addresses.map(address => ({ addresses: [address], conditions: { ready: true } })),
  }
  return [made, slice]
}

interface ServiceOptions {
  readonly port?: number
  readonly addresses?: readonly string[]
  readonly spec?: Service['spec']
  readonly appProtocol?: string
}

export interface WorldOptions extends Partial<Omit<GatewayWorld, 'service' | 'endpointSlices'>> {
  readonly services?: readonly (readonly [Service, EndpointSlice?])[]
}

export function worldOf({ services = [], ...options }: WorldOptions): GatewayWorld {
  const keyOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`
  const byKey = new Map(services.map(([made, slice]) => [keyOf(made), { made, slice }]))
  return {
    gatewayClasses: [gatewayClass()],
    gateways: [],
    httpRoutes: [],
    grpcRoutes: [],
    referenceGrants: [],
    backendTlsPolicies: [],
    configMap: () => undefined,
    namespaceLabels: name => ({ 'kubernetes.io/metadata.name': name, 'team': name }),
    service: key => byKey.get(key)?.made,
    gatewayServices: [],
    endpointSlices: key => [byKey.get(key)?.slice].filter(slice => slice !== undefined),
    secret: () => undefined,
    nodeAddress: '192.0.2.1',
    nodeName: undefined,
    allocatedPorts: new Map(),
    ...options,
  }
}

/** `Accepted`, or `Accepted=False:Reason`; the reason of a true condition only if it is not its type. */
export function conditionText({ type, status, reason }: PlannedCondition): string {
  if (status === 'True') return reason === type ? type : `${type}:${reason}`
  return `${type}=${status}:${reason}`
}

/** `default/web: gw Accepted ResolvedRefs` */
export function routeLines({ routes }: GatewayPlan): readonly string[] {
  return routes.flatMap(({ object, status }) => {
    return status.map(({ parentRef, conditions }) => {
      const { name, sectionName, port } = parentRef
      const parent = [name, sectionName && `/${sectionName}`, port && `:${port}`].filter(Boolean).join('')
      return `${object.metadata.name}: ${parent} ${conditions.map(conditionText).join(' ')}`
    })
  })
}

/** `gw: Accepted Programmed`, then ` listener: kinds routes conditions` */
export function gatewayLines({ gateways: planned }: GatewayPlan): readonly string[] {
  return planned.flatMap(({ object, status }) => [
    `${object.metadata.name}: ${status.conditions.map(conditionText).join(' ')}`,
    ...status.listeners.map(({ name, supportedKinds, attachedRoutes, conditions }) => {
      const kinds = supportedKinds.map(({ kind }) => kind[0]).join('')
      const shown = conditions.map(conditionText).filter(text => text !== 'Conflicted=False:NoConflicts')
      return ` ${name}: [${kinds}] ${attachedRoutes} ${shown.join(' ')}`
    }),
  ])
}

/** `gw:80`, ` hostname`, `  match -> backend*weight` */
export function configurationLines({ listeners }: ProxyConfiguration): readonly string[] {
  return listeners.flatMap(({ id, virtualHosts }) => [
    id.replace(/^gateway\/default\//, ''),
    ...virtualHosts.flatMap(({ hostname, routes }) => [
      ` ${hostname}`,
      ...routes.map(({ match, backends }) => {
        const to = backends.map(({ backend, weight }) => {
          const short = backend?.replace(/^gateway\/(?:default\/)?/, '').replace(/\/http1$/, '') ?? '500'
          return weight === 1 ? short : `${short}*${weight}`
        })
        return `  ${matchText(match)} -> ${to.join(' ')}`.trimEnd()
      }),
    ]),
  ])
}

const pathPrefixes = { 'prefix': '', 'exact': '=', 'regular-expression': '~' } as const

function matchText({ path, method, headers, queryParameters }: RouteMatch): string {
  const valueText = ({ name, type, value }: RouteMatch['headers'][number]): string => {
    return `${name}${type === 'exact' ? '=' : '~'}${value}`
  }
  return [
    `${pathPrefixes[path.type]}${path.value}`,
    ...(method === undefined ? [] : [method]),
    ...headers.map(valueText),
    ...queryParameters.map(each => `?${valueText(each)}`),
  ].join(' ')
}
