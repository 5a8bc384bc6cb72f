/** Rules of routes as the proxy understands them, independent of listeners. */
import { tryParseDurationMs } from '#/api/text/duration.ts'
import type { RouteFilter, RouteTimeouts, WeightedBackend } from '#/http-proxy/proxy-configuration.ts'
import type { GRPCRoute } from '../gateway-api/grpc-route.ts'
import type { HTTPRoute } from '../gateway-api/http-route.ts'
import type { Stored } from '#/api/metadata.ts'
import { resolveBackend, type BackendContext, type BackendReference } from './backends.ts'
import type { Problem } from './conditions.ts'
import { planFilters, type Filter } from './filters.ts'
import { planGrpcMatches, planHttpMatches, type MatchesPlan, type MatchPlan } from './matches.ts'

export interface RulePlan {
  /** `httproute/default/web/rule-0`, or with the name of the rule. */
  readonly id: string
  readonly matches: readonly MatchPlan[]
  readonly filters: readonly RouteFilter[]
  readonly backends: readonly WeightedBackend[]
  readonly timeouts: RouteTimeouts
}

export interface RulesPlan {
  readonly rules: readonly RulePlan[]
  /** The route cannot be accepted. */
  readonly refused: Problem | undefined
  readonly unresolved: Problem | undefined
  /** Keys of the Services that exist. */
  readonly services: ReadonlySet<string>
}

export function planHttpRules({ metadata, spec }: Stored<HTTPRoute>, context: BackendContext): RulesPlan {
  const at = `httproute/${metadata.namespace}/${metadata.name}`
  const planned = spec.rules.map((rule, index) => {
    const parts = { ...rule, id: `${at}/${rule.name ?? `rule-${index}`}`, timeouts: timeoutsOf(rule) }
    return planRule(parts, { matches: planHttpMatches(rule.matches), context })
  })
  return joinRules(planned, context)
}

export function planGrpcRules({ metadata, spec }: Stored<GRPCRoute>, context: BackendContext): RulesPlan {
  const at = `grpcroute/${metadata.namespace}/${metadata.name}`
  const planned = (spec.rules ?? []).map((rule, index) => {
    const parts = { ...rule, id: `${at}/${rule.name ?? `rule-${index}`}`, timeouts: {} }
    return planRule(parts, { matches: planGrpcMatches(rule.matches), context })
  })
  return joinRules(planned, context)
}

interface RuleParts {
  readonly id: string
  readonly filters?: readonly Filter[]
  readonly backendRefs?: readonly (BackendReference & {
    readonly weight: number
    readonly filters?: readonly Filter[]
  })[]
  readonly timeouts: RouteTimeouts
}

interface PlannedRule {
  readonly rule: RulePlan
  readonly refused: Problem | undefined
  readonly unresolved: Problem | undefined
}

function planRule(
  { id, filters = [], backendRefs = [], timeouts }: RuleParts,
  { matches, context }: { readonly matches: MatchesPlan; readonly context: BackendContext },
): PlannedRule {
  const own = planFilters(filters, context)
  const backends = backendRefs.map(reference => {
    const { backend, problem } = resolveBackend(reference, context)
    const planned = planFilters(reference.filters ?? [], context)
    return { backend, weight: reference.weight, planned, problem: problem ?? planned.unresolved }
  })
  return {
    rule: {
      id,
      matches: matches.matches,
      filters: own.filters,
      backends: backends.map(({ backend, weight, planned }) => ({
        backend,
        weight,
        filters: planned.filters,
      })),
      timeouts,
    },
    refused:
      matches.refused ?? own.refused ?? backends.find(({ planned }) => planned.refused)?.planned.refused,
    unresolved: own.unresolved ?? backends.find(({ problem }) => problem)?.problem,
  }
}

function joinRules(planned: readonly PlannedRule[], { routeServices }: BackendContext): RulesPlan {
  return {
    rules: planned.map(({ rule }) => rule),
    refused: planned.find(({ refused }) => refused)?.refused,
    unresolved: planned.find(({ unresolved }) => unresolved)?.unresolved,
    services: routeServices,
  }
}

/** https://gateway-api.sigs.k8s.io/geps/gep-2257/ */
function timeoutsOf({ timeouts }: HTTPRoute['spec']['rules'][number]): RouteTimeouts {
  const requestMs = tryParseDurationMs(timeouts?.request ?? '')
  const backendRequestMs = tryParseDurationMs(timeouts?.backendRequest ?? '')
  return {
    ...(requestMs !== undefined && { requestMs }),
    ...(backendRequestMs !== undefined && { backendRequestMs }),
  }
}
