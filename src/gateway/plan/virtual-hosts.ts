/**
 * The virtual hosts of all listeners of a Gateway on one port. A request belongs to the most specific
 * listener that matches its host, and only routes of that listener are used for it (listener isolation).
 */
import type { ProxyRoute, RouteFilter, VirtualHost } from '#/http-proxy/proxy-configuration.ts'
import { compareSpecificity, covers, wildcardsOf } from './hostnames.ts'
import { completeRedirect } from './filters.ts'
import type { ListenerPlan } from './listeners.ts'
import type { AttachedListener } from './routes.ts'
import type { RulePlan } from './rules.ts'

/** `listeners` are those that are accepted. One that cannot be served has virtual hosts without routes. */
export function planVirtualHosts(listeners: readonly AttachedListener[]): readonly VirtualHost[] {
  const ownerOf = listenerByHost(listeners)
  const virtualHosts = listeners.flatMap(listener => {
    const candidates = listener.plan.isServable
      ? candidatesOf(listener)
      : new Map<string, readonly ProxyRoute[]>()
    return [...new Set([listener.plan.hostname, ...candidates.keys()])]
      .filter(hostname => ownerOf(hostname) === listener)
      .map((hostname): VirtualHost => ({
        hostname,
        wildcard: 'any-labels',
        routes: [hostname, ...wildcardsOf(hostname)].flatMap(each => candidates.get(each) ?? []),
      }))
  })
  return virtualHosts.sort((a, b) => {
    return compareSpecificity(a.hostname, b.hostname) || (a.hostname < b.hostname ? -1 : 1)
  })
}

/** The most specific listener that matches all hosts of a hostname. */
export function listenerByHost(
  listeners: readonly AttachedListener[],
): (hostname: string) => AttachedListener | undefined {
  const sorted = listeners.toSorted((a, b) => compareSpecificity(a.plan.hostname, b.plan.hostname))
  return hostname => sorted.find(({ plan }) => covers(plan.hostname, hostname))
}

interface Candidate {
  readonly precedence: readonly number[]
  readonly route: ProxyRoute
}

/**
 * The matches of all routes by hostname, in order of precedence: the most specific match, the oldest route,
 * the first rule. Sorting is stable, and the attachments are in order.
 */
function candidatesOf({ plan, attachments }: AttachedListener): ReadonlyMap<string, readonly ProxyRoute[]> {
  const candidates = new Map<string, Candidate[]>()
  for (const attachment of attachments) {
    const rules = attachment.plan.rules.rules.flatMap(rule => routesOf(rule, plan))
    for (const hostname of attachment.hostnames) {
      const known = candidates.get(hostname)
      if (known === undefined) candidates.set(hostname, [...rules])
      else for (const each of rules) known.push(each)
    }
  }
  const sorted = [...candidates].map(([hostname, each]) => {
    each.sort((a, b) => comparePrecedence(a.precedence, b.precedence))
    return [hostname, each.map(({ route }) => route)] as const
  })
  return new Map(sorted)
}

/** One for each match of the rule. */
function routesOf(rule: RulePlan, listener: ListenerPlan): readonly Candidate[] {
  const complete = (filter: RouteFilter): RouteFilter => completeRedirect(filter, listener)
  const filters = rule.filters.map(complete)
  const backends = rule.backends.map(each => ({ ...each, filters: each.filters.map(complete) }))
  const { id, timeouts } = rule
  return rule.matches.map(({ match, precedence }, index) => ({
    precedence,
    route: {
      id: rule.matches.length === 1 ? id : `${id}/match-${index}`,
      match,
      filters,
      backends,
      timeouts,
    },
  }))
}

function comparePrecedence(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = (b[index] ?? 0) - value
    if (difference !== 0) return difference
  }
  return 0
}
