import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import { gatewayGroup } from '../gateway-api/fields.ts'
import { resolveCertificates, type CertificateContext, type ListenerCertificates } from './certificates.ts'
import { conditionFalse, conditionTrue, type PlannedCondition, type Problem } from './conditions.ts'
import { anyHost } from './hostnames.ts'
import type { Listener, RouteKind } from './world.ts'

/** A listener of a Gateway, before routes attach to it. */
export interface ListenerPlan {
  readonly listener: Listener
  readonly port: number
  readonly isTls: boolean
  /** `*` without a hostname. */
  readonly hostname: string
  readonly supportedKinds: readonly RouteKind[]
  readonly certificates: ListenerCertificates
  readonly accepted: PlannedCondition
  readonly conflicted: PlannedCondition
  readonly resolvedRefs: PlannedCondition
  /** True if the proxy can serve it. */
  readonly isServable: boolean
  readonly allowsNamespace: (namespace: string) => boolean
}

export function planListeners(context: CertificateContext): readonly ListenerPlan[] {
  return context.gateway.spec.listeners.map(listener => planListener(listener, context))
}

const protocols: Readonly<Record<string, { readonly isTls: boolean }>> = {
  HTTP: { isTls: false },
  HTTPS: { isTls: true },
}

const routeKinds: readonly RouteKind[] = ['HTTPRoute', 'GRPCRoute']

function planListener(listener: Listener, context: CertificateContext): ListenerPlan {
  const { gateway } = context
  const protocol = Object.hasOwn(protocols, listener.protocol) ? protocols[listener.protocol] : undefined
  const isTls = protocol?.isTls ?? false
  const kinds = allowedKinds(listener)
  const certificates = isTls ? resolveCertificates(listener, context) : noCertificates
  const conflict = conflictOf(listener, gateway.spec.listeners)
  const refused = conflict ?? unsupportedValueOf(listener, context)
  const unresolved = kinds.problem ?? certificates.problem
  const accepted = refused === undefined && protocol !== undefined
  return {
    listener,
    port: listener.port,
    isTls,
    hostname: (listener.hostname ?? anyHost).toLowerCase(),
    supportedKinds: protocol === undefined ? [] : kinds.kinds,
    certificates,
    accepted:
      protocol === undefined
        ? conditionFalse('Accepted', {
            reason: 'UnsupportedProtocol',
            message: `protocol ${listener.protocol} is not supported, use HTTP or HTTPS`,
          })
        : refused === undefined
          ? conditionTrue('Accepted')
          : conditionFalse('Accepted', refused),
    conflicted:
      conflict === undefined
        ? { type: 'Conflicted', status: 'False', reason: 'NoConflicts', message: '' }
        : conditionTrue('Conflicted', conflict.reason, conflict.message),
    resolvedRefs:
      unresolved === undefined ? conditionTrue('ResolvedRefs') : conditionFalse('ResolvedRefs', unresolved),
    isServable: accepted && (!isTls || certificates.keyPairs.length > 0),
    allowsNamespace: namespace => allowsNamespace(listener, { namespace, context }),
  }
}

const noCertificates: ListenerCertificates = { keyPairs: [], problem: undefined }

function allowedKinds({ allowedRoutes }: Listener): {
  readonly kinds: readonly RouteKind[]
  readonly problem: Problem | undefined
} {
  const { kinds = [] } = allowedRoutes
  if (kinds.length === 0) return { kinds: routeKinds, problem: undefined }
  const supported = routeKinds.filter(kind => {
    return kinds.some(each => each.group === gatewayGroup && each.kind === kind)
  })
  const unknown = kinds.find(each => {
    return each.group !== gatewayGroup || !routeKinds.some(kind => kind === each.kind)
  })
  const message =
    unknown && `routes of kind ${unknown.kind} are not supported, use ${routeKinds.join(' or ')}`
  return {
    kinds: supported,
    problem: message === undefined ? undefined : { reason: 'InvalidRouteKinds', message },
  }
}

/** No conflicting listener is preferred: none of them is served. */
function conflictOf(listener: Listener, all: readonly Listener[]): Problem | undefined {
  const others = all.filter(({ name, port }) => name !== listener.name && port === listener.port)
  const ofOtherProtocol = others.find(({ protocol }) => protocol !== listener.protocol)
  if (ofOtherProtocol !== undefined) {
    return {
      reason: 'ProtocolConflict',
      message: `listener ${ofOtherProtocol.name} has another protocol on port ${listener.port}`,
    }
  }
  const sameHostname = others.find(({ hostname }) => hostname === listener.hostname)
  if (sameHostname === undefined) return undefined
  return {
    reason: 'HostnameConflict',
    message: `listener ${sameHostname.name} has the same port and hostname`,
  }
}

/** A listener that should validate client certificates must not accept clients without. */
function unsupportedValueOf(
  { port, protocol, tls }: Listener,
  { gateway }: CertificateContext,
): Problem | undefined {
  if (protocol !== 'HTTPS') return undefined
  const reason = 'UnsupportedValue'
  if (tls?.mode === 'Passthrough') return { reason, message: 'the tls mode of HTTPS must be Terminate' }
  const frontend = gateway.spec.tls?.frontend
  const own = frontend?.perPort?.find(each => each.port === port)
  const validation = own === undefined ? frontend?.default.validation : own.tls.validation
  if (validation === undefined) return undefined
  return { reason, message: 'validation of client certificates (tls.frontend) is not supported' }
}

function allowsNamespace(
  { allowedRoutes }: Listener,
  { namespace, context }: { readonly namespace: string; readonly context: CertificateContext },
): boolean {
  const { from, selector } = allowedRoutes.namespaces
  if (from === 'All') return true
  if (from === 'Same') return namespace === context.gateway.metadata.namespace
  const labels = context.world.namespaceLabels(namespace)
  if (labels === undefined || selector === undefined) return false
  try {
    return compileLabelSelector(selector).matches(labels)
  } catch (error) {
    if (error instanceof SelectorError) return false
    throw error
  }
}
