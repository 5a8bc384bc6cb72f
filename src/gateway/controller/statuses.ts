/** Statuses as they are written: conditions keep their times, and entries of other controllers are kept. */
import { conditionOf } from '#/api/conditions.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { gatewayControllerName } from '../gateway-api.ts'
import type { BackendTLSPolicy } from '../gateway-api/backend-tls-policy.ts'
import type { AncestorPlan } from '../plan-gateways.ts'
import type { GatewayClass } from '../gateway-api/gateway-class.ts'
import type { Gateway } from '../gateway-api/gateway.ts'
import type { PlannedCondition } from '../plan/conditions.ts'
import type { GatewayStatusPlan } from '../plan/gateway-status.ts'
import type { ParentPlan } from '../plan/routes.ts'
import type { Route } from '../plan/world.ts'

type Conditions = Gateway['status']['conditions']

export interface Observation {
  /** RFC 3339. */
  readonly now: string
  /** The `metadata.generation` that the conditions are about. */
  readonly generation: number | bigint | undefined
}

/** Conditions of other types are kept. */
function mergeConditions(
  before: Conditions | undefined,
  planned: readonly PlannedCondition[],
  { now, generation }: Observation,
): Conditions {
  const types = new Set(planned.map(({ type }) => type))
  const merged = planned.map(condition => {
    const known = conditionOf(before, condition.type)
    const lastTransitionTime = known?.status === condition.status ? known.lastTransitionTime : now
    return {
      ...condition,
      lastTransitionTime,
      ...(generation !== undefined && { observedGeneration: generation }),
    }
  })
  return [...merged, ...(before ?? []).filter(({ type }) => !types.has(type))]
}

export function classStatus(
  { status }: GatewayClass,
  planned: readonly PlannedCondition[],
  observation: Observation,
): GatewayClass['status'] {
  return {
    conditions: mergeConditions(status.conditions, planned, observation),
    supportedFeatures: supportedFeatures.map(name => ({ name })),
  }
}

export function gatewayStatus(
  { status }: Gateway,
  planned: GatewayStatusPlan,
  observation: Observation,
): Gateway['status'] {
  return {
    ...status,
    addresses: planned.addresses,
    conditions: mergeConditions(status.conditions, planned.conditions, observation),
    listeners: planned.listeners.map(listener => {
      const known = status.listeners?.find(({ name }) => name === listener.name)
      return { ...listener, conditions: mergeConditions(known?.conditions, listener.conditions, observation) }
    }),
  }
}

/** Undefined if the route has no status and needs none. */
export function routeStatus(
  { status }: Pick<Route, 'status'>,
  planned: readonly ParentPlan[],
  observation: Observation,
): NonNullable<Route['status']> | undefined {
  const before = status?.parents ?? []
  const foreign = before.filter(({ controllerName }) => controllerName !== gatewayControllerName)
  const own = planned.map(({ parentRef, conditions }) => {
    const known = before.find(each => {
      return each.controllerName === gatewayControllerName && equalJson(each.parentRef, parentRef)
    })
    return {
      parentRef,
      controllerName: gatewayControllerName,
      conditions: mergeConditions(known?.conditions, conditions, observation),
    }
  })
  const parents = [...foreign, ...own].slice(0, parentsMax)
  return status === undefined && parents.length === 0 ? undefined : { parents }
}

/** Undefined if the policy has no status and needs none. */
export function policyStatus(
  { status }: BackendTLSPolicy,
  planned: readonly AncestorPlan[],
  observation: Observation,
): BackendTLSPolicy['status'] | undefined {
  const before = status?.ancestors ?? []
  const foreign = before.filter(({ controllerName }) => controllerName !== gatewayControllerName)
  const own = planned.map(({ ancestorRef, conditions }) => {
    const known = before.find(each => {
      return each.controllerName === gatewayControllerName && equalJson(each.ancestorRef, ancestorRef)
    })
    return {
      ancestorRef,
      controllerName: gatewayControllerName,
      conditions: mergeConditions(known?.conditions, conditions, observation),
    }
  })
  const ancestors = [...foreign, ...own].slice(0, ancestorsMax)
  return status === undefined && ancestors.length === 0 ? undefined : { ancestors }
}

/** The limits of the API. */
const parentsMax = 32
const ancestorsMax = 16

/**
 * Names of the features of the Gateway API that the plan and the reverse proxy implement, sorted, for the
 * status of the GatewayClass: https://gateway-api.sigs.k8s.io/geps/gep-2162/. Clients read them, such as
 * the conformance tests.
 */
const supportedFeatures: readonly string[] = [
  'BackendTLSPolicy',
  'GRPCRoute',
  'GRPCRouteNamedRouteRule',
  'GRPCRouteRequestHeaderModifier',
  'Gateway',
  'GatewayAddressEmpty',
  'GatewayHTTPListenerIsolation',
  'GatewayInfrastructurePropagation',
  'GatewayPort8080',
  'GatewayStaticAddresses',
  'HTTPRoute',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteBackendProtocolH2C',
  'HTTPRouteBackendProtocolWebSocket',
  'HTTPRouteBackendRequestHeaderModification',
  'HTTPRouteBackendRequestRedirect',
  'HTTPRouteBackendTimeout',
  'HTTPRouteBackendURLRewrite',
  'HTTPRouteHostRewrite',
  'HTTPRouteMethodMatching',
  'HTTPRouteNamedRouteRule',
  'HTTPRouteParentRefPort',
  'HTTPRoutePathRedirect',
  'HTTPRoutePathRewrite',
  'HTTPRoutePortRedirect',
  'HTTPRouteQueryParamMatching',
  'HTTPRouteRequestMirror',
  'HTTPRouteRequestMultipleMirrors',
  'HTTPRouteRequestPercentageMirror',
  'HTTPRouteRequestTimeout',
  'HTTPRouteResponseHeaderModification',
  'HTTPRouteSchemeRedirect',
  'ReferenceGrant',
]
