/**
 * Plans everything that follows from the objects of the Gateway API, as a pure function: the configuration
 * of the reverse proxy, the status of all objects, and a Service for each Gateway, which has its own
 * address. Follows https://gateway-api.sigs.k8s.io/reference/spec/; `docs/gateway-api.md` lists the
 * supported features.
 */
import { controllerOf, isBeingDeleted, isControlledBy, keyOf, type Stored } from '#/api/metadata.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import type { Backend, ProxyConfiguration, ProxyListener } from '#/http-proxy/proxy-configuration.ts'
import { gatewayControllerName } from './gateway-api.ts'
import type { BackendTLSPolicy } from './gateway-api/backend-tls-policy.ts'
import { gatewayGroup } from './gateway-api/fields.ts'
import type { GatewayClass } from './gateway-api/gateway-class.ts'
import type { Gateway } from './gateway-api/gateway.ts'
import type { GRPCRoute } from './gateway-api/grpc-route.ts'
import type { HTTPRoute } from './gateway-api/http-route.ts'
import { planBackendTls, type BackendTlsPlan, type PolicyPlan } from './plan/backend-tls.ts'
import { compareAge } from './plan/compare-age.ts'
import { serverCertificates } from './plan/certificates.ts'
import { conditionFalse, conditionTrue, type PlannedCondition } from './plan/conditions.ts'
import {
  gatewayServiceName,
  planGatewayService,
  type GatewayServicePlan,
  type PortMapping,
} from './plan/gateway-service.ts'
import { planAccepted, planGatewayStatus, type GatewayStatusPlan } from './plan/gateway-status.ts'
import { planListeners } from './plan/listeners.ts'
import { allocatePorts } from './plan/node-ports.ts'
import { referencePermissions, type IsPermitted } from './plan/reference-grants.ts'
import {
  attachRoute,
  parentGateways,
  withoutRoutes,
  type AttachedListener,
  type GatewayListeners,
  type ParentPlan,
  type RoutePlan,
} from './plan/routes.ts'
import { planGrpcRules, planHttpRules, type RulesPlan } from './plan/rules.ts'
import { listenerByHost, planVirtualHosts } from './plan/virtual-hosts.ts'
import type { GatewayWorld, ParentReference, References, Route } from './plan/world.ts'

export interface GatewayPlan {
  readonly configuration: ProxyConfiguration
  readonly classes: readonly ObjectPlan<Stored<GatewayClass>, readonly PlannedCondition[]>[]
  readonly gateways: readonly ObjectPlan<Stored<Gateway>, GatewayStatusPlan>[]
  /** All routes: one without parents may have a status that is to be removed. */
  readonly routes: readonly RouteObjectPlan[]
  readonly policies: readonly ObjectPlan<Stored<BackendTLSPolicy>, readonly AncestorPlan[]>[]
  readonly services: readonly PlannedService[]
  /** Services that no Gateway needs any more. */
  readonly obsoleteServices: readonly Stored<Service>[]
  /** Ports of the node by `namespace/name:port` of the Gateway. */
  readonly allocatedPorts: ReadonlyMap<string, number>
  readonly references: References
}

export interface AncestorPlan {
  readonly ancestorRef: ParentReference
  readonly conditions: readonly PlannedCondition[]
}

export interface PlannedService extends GatewayServicePlan {
  readonly gateway: Stored<Gateway>
}

export interface ObjectPlan<T, Status> {
  readonly object: T
  readonly status: Status
}

export type RouteObjectPlan =
  | (ObjectPlan<Stored<HTTPRoute>, readonly ParentPlan[]> & { readonly kind: 'HTTPRoute' })
  | (ObjectPlan<Stored<GRPCRoute>, readonly ParentPlan[]> & { readonly kind: 'GRPCRoute' })

export function planGateways(world: GatewayWorld): GatewayPlan {
  const references: References = { services: new Set(), secrets: new Set(), configMaps: new Set() }
  const isPermitted = referencePermissions(world.referenceGrants)
  const backends = new Map<string, Backend>()
  const classes = world.gatewayClasses
    .filter(({ spec }) => spec.controllerName === gatewayControllerName)
    .map(object => ({ object, status: [planClassAccepted(object)] }))
  const acceptedClasses = new Set(
    classes.filter(({ status }) => status[0]?.status === 'True').map(({ object }) => object.metadata.name),
  )
  const gateways = world.gateways
    .filter(each => acceptedClasses.has(each.spec.gatewayClassName) && !isBeingDeleted(each))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map(gateway => planOwnGateway(gateway, { world, references, isPermitted }))
  const byKey = new Map(gateways.map(each => [each.key, each]))
  const { tlsOf, policies } = planBackendTls(world, references)
  const planned = planRoutes(world, { references, isPermitted, backends, gateways: byKey, tlsOf })
  const routes = planned.map((plan): RouteObjectPlan => {
    const status = attachRoute(plan, byKey)
    return plan.kind === 'HTTPRoute'
      ? { kind: plan.kind, object: plan.route, status }
      : { kind: plan.kind, object: plan.route, status }
  })
  const served = gateways.filter(({ accepted }) => accepted.status === 'True')
  const keys = served.flatMap(each => portsOf(each).map(port => `${each.key}:${port}`))
  const { ports } = allocatePorts(keys, world.allocatedPorts)
  const context = { world, ports }
  return {
    configuration: {
      listeners: served.flatMap(each => planProxyListeners(each, context)),
      backends: usedBackends(backends, served),
    },
    classes,
    gateways: gateways.map(each => ({ object: each.gateway, status: statusOf(each, context) })),
    routes,
    policies: policies.map(each => planAncestors(each, gateways)),
    services: served.flatMap(each => planService(each, context)),
    obsoleteServices: obsoleteServices(world, gateways),
    allocatedPorts: ports,
    references,
  }
}

function planClassAccepted({ spec }: GatewayClass): PlannedCondition {
  if (spec.parametersRef === undefined) return conditionTrue('Accepted')
  return conditionFalse('Accepted', {
    reason: 'InvalidParameters',
    message: 'parametersRef is not supported',
  })
}

interface PlanContext {
  readonly world: GatewayWorld
  readonly references: References
  readonly isPermitted: IsPermitted
}

interface OwnGateway extends GatewayListeners {
  readonly gateway: Stored<Gateway>
  readonly accepted: PlannedCondition
}

function planOwnGateway(gateway: Stored<Gateway>, context: PlanContext): OwnGateway {
  const plans = planListeners({ ...context, gateway })
  const listeners = plans.map(withoutRoutes)
  context.references.services.add(serviceKeyOf(gateway))
  return { key: keyOf(gateway), gateway, listeners, accepted: planAccepted(gateway, plans) }
}

interface RouteContext extends Pick<PlanContext, 'references' | 'isPermitted'> {
  readonly backends: Map<string, Backend>
  readonly gateways: ReadonlyMap<string, GatewayListeners>
  readonly tlsOf: BackendTlsPlan['tlsOf']
}

/** In order of precedence. The rules of routes of other controllers are not planned. */
function planRoutes(world: GatewayWorld, context: RouteContext): readonly RoutePlan[] {
  const contextOf = ({ metadata }: Route) => {
    return { ...context, world, namespace: metadata.namespace ?? '', routeServices: new Set<string>() }
  }
  const isOwn = (route: Route): boolean => parentGateways(route).some(key => context.gateways.has(key))
  const plans = [
    ...world.httpRoutes.map((route): RoutePlan => {
      const kind = 'HTTPRoute'
      return {
        kind,
        route,
        rules: isOwn(route) ? planHttpRules(route, { ...contextOf(route), kind }) : noRules,
      }
    }),
    ...world.grpcRoutes.map((route): RoutePlan => {
      const kind = 'GRPCRoute'
      return {
        kind,
        route,
        rules: isOwn(route) ? planGrpcRules(route, { ...contextOf(route), kind }) : noRules,
      }
    }),
  ]
  return plans.sort((a, b) => compareAge(a.route, b.route))
}

const noRules: RulesPlan = { rules: [], refused: undefined, unresolved: undefined, services: new Set() }

interface ServedContext {
  readonly world: GatewayWorld
  readonly ports: ReadonlyMap<string, number>
}

/** Conflicting and unsupported listeners have no port. */
function acceptedListeners({ listeners }: OwnGateway): readonly AttachedListener[] {
  return listeners.filter(({ plan }) => plan.accepted.status === 'True')
}

function portsOf(gateway: OwnGateway): readonly number[] {
  return [...new Set(acceptedListeners(gateway).map(({ plan }) => plan.port))].sort((a, b) => a - b)
}

function mappingsOf(gateway: OwnGateway, { ports }: ServedContext): readonly PortMapping[] {
  return portsOf(gateway).flatMap(port => {
    const nodePort = ports.get(`${gateway.key}:${port}`)
    return nodePort === undefined ? [] : [{ port, nodePort }]
  })
}

/** One for each port, since all its listeners share a socket. */
function planProxyListeners(gateway: OwnGateway, context: ServedContext): readonly ProxyListener[] {
  return mappingsOf(gateway, context).map(({ port, nodePort }) => {
    const listeners = acceptedListeners(gateway).filter(({ plan }) => plan.port === port)
    const isTls = listeners.some(({ plan }) => plan.isTls)
    const ownerOf = listenerByHost(listeners)
    return {
      id: `gateway/${gateway.key}:${port}`,
      host: context.world.nodeAddress,
      port: nodePort,
      externalPort: port,
      protocol: isTls ? 'tls' : 'http',
      certificates: listeners.flatMap(listener => {
        const isOwnHost = (name: string): boolean => ownerOf(name) === listener
        return serverCertificates(listener.plan.certificates, { hostname: listener.plan.hostname, isOwnHost })
      }),
      virtualHosts: planVirtualHosts(listeners),
    }
  })
}

function planService(own: OwnGateway, context: ServedContext): readonly PlannedService[] {
  const { gateway } = own
  const ports = mappingsOf(own, context)
  const { nodeAddress, nodeName } = context.world
  const existing = serviceOf(own, context.world)
  const isForeign = existing !== undefined && !isControlledBy(existing, gateway)
  if (ports.length === 0 || isForeign) return []
  return [{ gateway, ...planGatewayService(gateway, { ports, nodeAddress, nodeName }) }]
}

function serviceOf({ gateway }: OwnGateway, world: GatewayWorld): Service | undefined {
  return world.service(serviceKeyOf(gateway))
}

function serviceKeyOf(gateway: Stored<Gateway>): string {
  return `${gateway.metadata.namespace}/${gatewayServiceName(gateway)}`
}

function statusOf(own: OwnGateway, context: ServedContext): GatewayStatusPlan {
  const allocated = mappingsOf(own, context).map(({ port }) => port)
  return planGatewayStatus({
    gateway: own.gateway,
    accepted: own.accepted,
    listeners: own.listeners,
    service: serviceOf(own, context.world),
    unallocatedPorts: portsOf(own).filter(port => !allocated.includes(port)),
  })
}

/** Those of Gateways that exist, but have another class now; the garbage collector removes the others. */
function obsoleteServices(world: GatewayWorld, own: readonly OwnGateway[]): readonly Stored<Service>[] {
  const wanted = new Set(own.map(({ gateway }) => `${gateway.metadata.uid} ${gatewayServiceName(gateway)}`))
  const existing = new Set(world.gateways.map(({ metadata }) => metadata.uid))
  return world.gatewayServices.filter(service => {
    const uid = controllerOf(service)?.uid
    return uid !== undefined && existing.has(uid) && !wanted.has(`${uid} ${service.metadata.name}`)
  })
}

/** The Gateways that send requests to the Services of the policy. */
function planAncestors(
  { policy, services, conditions: conditionsOf }: PolicyPlan,
  gateways: readonly OwnGateway[],
): ObjectPlan<Stored<BackendTLSPolicy>, readonly AncestorPlan[]> {
  const using = gateways.filter(({ listeners }) => {
    const attached = listeners.flatMap(({ attachments }) => attachments)
    return attached.some(({ plan }) => services.some(service => plan.rules.services.has(service)))
  })
  const conditions = using.length === 0 ? [] : conditionsOf()
  const status = using.map(({ gateway }) => {
    const { name, namespace } = gateway.metadata
    const kind = { group: gatewayGroup, kind: 'Gateway' }
    return { ancestorRef: { ...kind, ...(namespace !== undefined && { namespace }), name }, conditions }
  })
  return { object: policy, status }
}

/** Backends of routes that no listener accepts need no connections. */
function usedBackends(
  backends: ReadonlyMap<string, Backend>,
  gateways: readonly OwnGateway[],
): ReadonlyMap<string, Backend> {
  const used = new Set<string | undefined>()
  for (const { listeners } of gateways) {
    for (const { plan } of listeners.flatMap(({ attachments }) => attachments)) {
      for (const { filters, backends: weighted } of plan.rules.rules) {
        const all = [...filters, ...weighted.flatMap(each => each.filters)]
        for (const filter of all) if (filter.type === 'mirror') used.add(filter.backend)
        for (const { backend } of weighted) used.add(backend)
      }
    }
  }
  return new Map([...backends].filter(([id]) => used.has(id)))
}
