/**
 * Attaches routes to listeners.
 * https://gateway-api.sigs.k8s.io/concepts/api-overview/#attaching-routes-to-gateways
 */
import { keyOf, type Stored } from '#/api/metadata.ts'
import { gatewayGroup } from '../gateway-api/fields.ts'
import type { GRPCRoute } from '../gateway-api/grpc-route.ts'
import type { HTTPRoute } from '../gateway-api/http-route.ts'
import { conditionFalse, conditionTrue, type PlannedCondition, type Problem } from './conditions.ts'
import { intersections, wildcardsOf } from './hostnames.ts'
import type { ListenerPlan } from './listeners.ts'
import type { RulesPlan } from './rules.ts'
import type { ParentReference, Route, RouteKind } from './world.ts'

export type RoutePlan =
  | { readonly kind: 'HTTPRoute'; readonly route: Stored<HTTPRoute>; readonly rules: RulesPlan }
  | { readonly kind: 'GRPCRoute'; readonly route: Stored<GRPCRoute>; readonly rules: RulesPlan }

/** A route on a listener, with the hostnames that both have. */
export interface Attachment {
  readonly plan: RoutePlan
  readonly hostnames: readonly string[]
}

export interface ParentPlan {
  readonly parentRef: ParentReference
  readonly conditions: readonly PlannedCondition[]
}

export interface GatewayListeners {
  /** `namespace/name` of the Gateway. */
  readonly key: string
  readonly listeners: readonly AttachedListener[]
}

export interface AttachedListener {
  readonly plan: ListenerPlan
  /** Of accepted routes, in order of their precedence. */
  readonly attachments: Attachment[]
  readonly hostnames: Readonly<Record<RouteKind, AttachedHostnames>>
}

export function withoutRoutes(plan: ListenerPlan): AttachedListener {
  const hostnames = { HTTPRoute: new AttachedHostnames(), GRPCRoute: new AttachedHostnames() }
  return { plan, attachments: [], hostnames }
}

/**
 * The conditions of the route for each parent among `gateways`; accepted routes are added to the listeners.
 * Must be called for routes in the order of `compareAge`.
 */
export function attachRoute(
  plan: RoutePlan,
  gateways: ReadonlyMap<string, GatewayListeners>,
): readonly ParentPlan[] {
  return (plan.route.spec.parentRefs ?? []).flatMap(parentRef => {
    const gateway = gateways.get(parentGateway(plan.route, parentRef) ?? '')
    if (gateway === undefined) return []
    const refused = plan.rules.refused ?? attachTo(plan, { gateway, parentRef })
    const { unresolved } = plan.rules
    return {
      parentRef,
      conditions: [
        refused === undefined ? conditionTrue('Accepted') : conditionFalse('Accepted', refused),
        unresolved === undefined ? conditionTrue('ResolvedRefs') : conditionFalse('ResolvedRefs', unresolved),
      ],
    }
  })
}

/** Keys of the Gateways that the route refers to. */
export function parentGateways(route: Route): readonly string[] {
  return (route.spec.parentRefs ?? [])
    .map(parentRef => parentGateway(route, parentRef))
    .filter(key => key !== undefined)
}

function parentGateway(
  { metadata }: Route,
  { group, kind, name, namespace }: ParentReference,
): string | undefined {
  if (group !== gatewayGroup || kind !== 'Gateway') return undefined
  return `${namespace ?? metadata.namespace}/${name}`
}

interface Parent {
  readonly gateway: GatewayListeners
  readonly parentRef: ParentReference
}

/** Why no listener accepts the route. */
function attachTo(plan: RoutePlan, { gateway, parentRef }: Parent): Problem | undefined {
  const { sectionName, port, name } = parentRef
  const { namespace = '' } = plan.route.metadata
  const named = gateway.listeners.filter(({ plan: { listener } }) => {
    return (
      (sectionName === undefined || listener.name === sectionName) &&
      (port === undefined || listener.port === port)
    )
  })
  if (named.length === 0) {
    const wanted = [sectionName && `named ${sectionName}`, port && `on port ${port}`]
      .filter(Boolean)
      .join(' ')
    return { reason: 'NoMatchingParent', message: `Gateway ${name} has no listener ${wanted}`.trimEnd() }
  }
  const allowed = named.filter(({ plan: { supportedKinds, allowsNamespace } }) => {
    return supportedKinds.includes(plan.kind) && allowsNamespace(namespace)
  })
  if (allowed.length === 0) {
    const message = `no listener of Gateway ${name} allows ${plan.kind}s of namespace ${namespace}`
    return { reason: 'NotAllowedByListeners', message }
  }
  const matching = allowed.flatMap(listener => {
    const hostnames = intersections(listener.plan.hostname, plan.route.spec.hostnames ?? [])
    return hostnames.length === 0 ? [] : [{ listener, attachment: { plan, hostnames } }]
  })
  if (matching.length === 0) {
    const message = `no listener of Gateway ${name} has one of the hostnames of the route`
    return { reason: 'NoMatchingListenerHostname', message }
  }
  return attach(matching, name)
}

interface Match {
  readonly listener: AttachedListener
  readonly attachment: Attachment
}

/** HTTPRoutes and GRPCRoutes cannot share hostnames: the one that comes first is accepted. */
function attach(matching: readonly Match[], gateway: string): Problem | undefined {
  let rival: Attachment | undefined
  let isAttached = false
  for (const { listener, attachment } of matching) {
    const { kind, route } = attachment.plan
    const other = listener.hostnames[kind === 'HTTPRoute' ? 'GRPCRoute' : 'HTTPRoute'].sharing(attachment)
    rival ??= other
    if (other !== undefined) continue
    isAttached = true
    // Several references of one route may select one listener; they follow each other.
    if (listener.attachments.at(-1)?.plan.route === route) continue
    listener.attachments.push(attachment)
    listener.hostnames[kind].add(attachment)
  }
  if (isAttached || rival === undefined) return undefined
  const { kind, route } = rival.plan
  const message = `${kind} ${keyOf(route)}, which is older, has the same hostname on Gateway ${gateway}`
  return { reason: 'NotAllowedByListeners', message }
}

/**
 * The hostnames of the routes of one kind on a listener. A look-up takes as many steps as a hostname has
 * labels, since users can create thousands of routes.
 */
class AttachedHostnames {
  readonly #exact = new Map<string, Attachment>()
  /** By each wildcard that matches a hostname in `#exact`. */
  readonly #within = new Map<string, Attachment>()

  add(attachment: Attachment): void {
    for (const hostname of attachment.hostnames) {
      if (this.#exact.has(hostname)) continue
      this.#exact.set(hostname, attachment)
      for (const wildcard of wildcardsOf(hostname))
        if (!this.#within.has(wildcard)) this.#within.set(wildcard, attachment)
    }
  }

  /** An attachment that has hosts in common with the given one. */
  sharing({ hostnames }: Attachment): Attachment | undefined {
    if (this.#exact.size === 0) return undefined
    for (const hostname of hostnames) {
      const found =
        this.#within.get(hostname) ??
        [hostname, ...wildcardsOf(hostname)]
          .map(each => this.#exact.get(each))
          .find(each => each !== undefined)
      if (found !== undefined) return found
    }
    return undefined
  }
}
