import type { Service } from '#/api/generated/core/v1.ts'
import { isControlledBy, type Stored } from '#/api/metadata.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import { gatewayGroup } from '../gateway-api/fields.ts'
import type { Gateway } from '../gateway-api/gateway.ts'
import { conditionFalse, conditionTrue, type PlannedCondition, type Problem } from './conditions.ts'
import { gatewayServiceName, requestedAddresses } from './gateway-service.ts'
import type { ListenerPlan } from './listeners.ts'
import type { AttachedListener } from './routes.ts'

export interface GatewayStatusPlan {
  readonly conditions: readonly PlannedCondition[]
  readonly addresses: readonly { readonly type: string; readonly value: string }[]
  readonly listeners: readonly ListenerStatusPlan[]
}

export interface ListenerStatusPlan {
  readonly name: string
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[]
  readonly attachedRoutes: number
  readonly conditions: readonly PlannedCondition[]
}

/** A Gateway that is not accepted is not served at all. */
export function planAccepted({ spec }: Gateway, listeners: readonly ListenerPlan[]): PlannedCondition {
  const unsupported = spec.addresses?.find(({ type }) => type !== 'IPAddress')
  if (unsupported !== undefined) {
    const message = `addresses of type ${unsupported.type} are not supported, use IPAddress`
    return conditionFalse('Accepted', { reason: 'UnsupportedAddress', message })
  }
  if (spec.infrastructure?.parametersRef !== undefined) {
    const message = 'infrastructure.parametersRef is not supported'
    return conditionFalse('Accepted', { reason: 'InvalidParameters', message })
  }
  const invalid = listeners.filter(({ accepted }) => accepted.status === 'False')
  if (invalid.length === 0) return conditionTrue('Accepted')
  const names = invalid.map(({ listener }) => listener.name).join(', ')
  const reason = 'ListenersNotValid'
  return invalid.length === listeners.length
    ? conditionFalse('Accepted', { reason, message: `no listener is accepted: ${names}` })
    : conditionTrue('Accepted', reason, `listeners that are not accepted: ${names}`)
}

export interface GatewayState {
  readonly gateway: Stored<Gateway>
  readonly accepted: PlannedCondition
  readonly listeners: readonly AttachedListener[]
  /** The object with the name of the Gateway's Service. */
  readonly service: Service | undefined
  /** Ports of the Gateway that the proxy has no port for. */
  readonly unallocatedPorts: readonly number[]
}

export function planGatewayStatus(state: GatewayState): GatewayStatusPlan {
  const { gateway, accepted, listeners } = state
  const isServed = accepted.status === 'True'
  const addresses = isServed ? addressesOf(state) : []
  const problem = programmedProblem(state, addresses)
  return {
    conditions: [
      accepted,
      problem === undefined ? conditionTrue('Programmed') : conditionFalse('Programmed', problem),
    ],
    addresses: addressesToShow(gateway, addresses),
    listeners: listeners.map(listener => planListenerStatus(listener, { ...state, isServed })),
  }
}

function planListenerStatus(
  { plan, attachments }: AttachedListener,
  { isServed, unallocatedPorts }: GatewayState & { readonly isServed: boolean },
): ListenerStatusPlan {
  const isProgrammed = isServed && plan.isServable && !unallocatedPorts.includes(plan.port)
  return {
    name: plan.listener.name,
    supportedKinds: plan.supportedKinds.map(kind => ({ group: gatewayGroup, kind })),
    attachedRoutes: attachments.length,
    conditions: [
      plan.accepted,
      isProgrammed
        ? conditionTrue('Programmed')
        : conditionFalse('Programmed', { reason: 'Invalid', message: 'the listener is not served' }),
      plan.resolvedRefs,
      plan.conflicted,
    ],
  }
}

interface Address {
  readonly type: string
  readonly value: string
}

/** Those that the load balancer has assigned. */
function addressesOf({ gateway, service }: GatewayState): readonly Address[] {
  if (service === undefined || !isControlledBy(service, gateway)) return []
  return (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => {
    if (ip !== undefined && ip !== '') return [{ type: 'IPAddress', value: ip }]
    return hostname !== undefined && hostname !== '' ? [{ type: 'Hostname', value: hostname }] : []
  })
}

/** While a requested address is not assigned, another one may still be. */
function addressesToShow(gateway: Gateway, assigned: readonly Address[]): readonly Address[] {
  const requested = requestedAddresses(gateway)
  if (requested.length === 0) return assigned
  return assigned.filter(({ value }) => requested.some(each => isSameAddress(each, value)))
}

function programmedProblem(
  { gateway, accepted, listeners, service, unallocatedPorts }: GatewayState,
  addresses: readonly Address[],
): Problem | undefined {
  if (accepted.status === 'False') return { reason: 'Invalid', message: accepted.message }
  if (unallocatedPorts.length > 0) {
    const message = `the node has no free port for ports ${unallocatedPorts.join(', ')} of the Gateway`
    return { reason: 'NoResources', message }
  }
  if (service !== undefined && !isControlledBy(service, gateway)) {
    const name = gatewayServiceName(gateway)
    return {
      reason: 'AddressNotAssigned',
      message: `Service ${name} exists and does not belong to the Gateway`,
    }
  }
  const missing = requestedAddresses(gateway).filter(each => {
    return !addresses.some(({ value }) => isSameAddress(each, value))
  })
  if (missing.length > 0) {
    const message = `not assigned: ${missing.join(', ')}; a Gateway can have one address of the load balancer`
    return { reason: 'AddressNotUsable', message }
  }
  if (addresses.length === 0) {
    return { reason: 'AddressNotAssigned', message: 'the load balancer has not assigned an address yet' }
  }
  if (!listeners.some(({ plan }) => plan.isServable))
    return { reason: 'Invalid', message: 'no listener can be served' }
  return undefined
}

function isSameAddress(a: string, b: string): boolean {
  const [one, other] = [parseIp(a), parseIp(b)]
  return one === undefined || other === undefined ? a === b : formatIp(one) === formatIp(other)
}
