/**
 * API Priority and Fairness. Flow schemas assign requests to priority levels, which borrow seats from each
 * other only within limits; within a level, fair queuing keeps a flood of one flow from delaying others. A
 * request that finds a free seat is not delayed.
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import type { FlowSchema, PolicyRulesWithSubjects } from '#/api/generated/flowcontrol/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Clock } from '#/platform/platform.ts'
import {
  levelConfigurationOf,
  levelsPrefix,
  mandatoryLevels,
  readLevels,
  readSchemas,
  schemasPrefix,
} from './flow-control/configuration.ts'
import { isLongRunning } from './flow-control/max-in-flight.ts'
import { byPrecedence, distinguisherOf, includesRequest, rulesFor } from './flow-control/match-flow.ts'
import { maxInFlight, tooManyRequestsError, type InFlightLimits } from './flow-control/max-in-flight.ts'
import { boundsOf, planConcurrencyLimits } from './flow-control/plan-concurrency-limits.ts'
import { PriorityLevel, type OccupiedSeats } from './flow-control/priority-level.ts'
import type { Next, Stage } from './pipeline.ts'
import type { Registry } from './registry/registry.ts'
import type { ApiResponse, RequestContext, UserInfo } from './request.ts'
import { prefixOf } from './registry/store-keys.ts'

/** Limits on concurrent requests, and the mechanism that enforces them. */
export interface RequestLimits extends InFlightLimits {
  readonly fairness: 'priority and fairness' | 'max in flight'
}

/** The stage must run after authentication. */
export function limitRequests(registry: FlowControlOptions['registry'], limits: RequestLimits): Stage {
  if (limits.fairness === 'max in flight') return maxInFlight(limits)
  return new FlowControl({ registry, seats: limits.readOnly + limits.mutating }).stage
}

export interface FlowControlOptions {
  readonly registry: Pick<Registry, 'platform' | 'cache' | 'scheme'>
  /** Total concurrency limit: the sum of `--max-requests-inflight` and `--max-mutating-requests-inflight`. */
  readonly seats: number
}

export class FlowControl {
  readonly #registry: FlowControlOptions['registry']
  readonly #clock: Clock
  readonly #seats: number
  /** By name; contains exactly the configured and mandatory levels. */
  readonly #levels = new Map<string, PriorityLevel>()
  #routes: readonly Route[] | undefined
  /** Routes with rules that match a user. Replaced whenever the configuration changes. */
  #routesOfUsers = new WeakMap<UserInfo, readonly UserRoute[]>()
  #plannedMs: number

  constructor({ registry, seats }: FlowControlOptions) {
    this.#registry = registry
    this.#clock = registry.platform.clock
    this.#seats = seats
    this.#plannedMs = this.#clock.monotonicMs()
    const forget = (): void => {
      this.#routes = undefined
    }
    for (const prefix of [schemasPrefix, levelsPrefix]) {
      registry.cache.subscribe(prefix, { onEvents: forget, onReset: forget })
    }
  }

  /** Runs after authentication and before any work for the request. */
  readonly stage: Stage = (context, next) => {
    if (isLongRunning(context.info)) return next(context)
    const { level, headers, schema } = this.#routeOf(context)
    if (headers)
      context.responseHeaders = context.responseHeaders ? { ...context.responseHeaders, ...headers } : headers
    // An exempt level without nominal seats does not affect other levels, so nothing is counted.
    if (level.isExempt && level.bounds.nominal === 0) return next(context)
    const seats = level.isExempt ? 1 : estimateSeats(this.#registry, context, level.bounds.nominal)
    const seat = level.tryStart(seats)
    if (seat) return serve(level, seat, () => next(context))
    const distinguisher = distinguisherOf(schema?.spec, context.user, context.info)
    return this.#wait(context, next, { level, seats, flow: `${schema?.metadata.name}/${distinguisher}` })
  }

  /** Limits and seats in use of each level, for monitoring. */
  get levels(): readonly LevelSummary[] {
    this.#currentRoutes()
    return [...this.#levels.values()].map(({ name, limit, running, bounds }) => ({
      name,
      limit,
      running,
      ...bounds,
    }))
  }

  async #wait(context: RequestContext, next: Next, wanted: Wanted): Promise<ApiResponse> {
    const { level, seats, flow } = wanted
    const outcome = await level.wait(flow, seats, context.request.signal)
    if (typeof outcome === 'string') throw tooManyRequestsError()
    return serve(level, outcome, () => next(context))
  }

  #routeOf({ user, info }: RequestContext): Route {
    const routes = this.#currentRoutes()
    let ofUser = this.#routesOfUsers.get(user)
    if (ofUser === undefined) {
      ofUser = routes.flatMap(route => {
        const rules = route.schema ? rulesFor(user, route.schema) : []
        return rules.length > 0 ? [{ route, rules }] : []
      })
      this.#routesOfUsers.set(user, ofUser)
    }
    for (const { route, rules } of ofUser) if (includesRequest(rules, info)) return route
    return routes.at(-1)!
  }

  #currentRoutes(): readonly Route[] {
    const nowMs = this.#clock.monotonicMs()
    if (this.#routes === undefined) {
      this.#adopt()
      this.#plannedMs = nowMs
    } else if (nowMs - this.#plannedMs >= planMs) {
      this.#plan(nowMs)
    }
    const routes = this.#routes ?? this.#makeRoutes()
    // Before its initial list the cache sends no reset event, so routes built now must not be kept.
    this.#routes = this.#registry.cache.revision > 0 ? routes : undefined
    return routes
  }

  #adopt(): void {
    const objects = readLevels(this.#registry)
    const wanted = new Map(mandatoryLevels)
    for (const object of objects) wanted.set(object.metadata.name, levelConfigurationOf(object))
    for (const [name, configuration] of wanted) {
      const known = this.#levels.get(name)
      if (known) known.configure(configuration)
      else this.#levels.set(name, new PriorityLevel(name, configuration, this.#clock))
    }
    for (const name of this.#levels.keys()) if (!wanted.has(name)) this.#levels.delete(name)
    const totalShares = [...wanted.values()].reduce((sum, { nominalShares }) => sum + nominalShares, 0)
    for (const level of this.#levels.values()) {
      level.setBounds(boundsOf(level.configuration, totalShares, this.#seats))
    }
    this.#routesOfUsers = new WeakMap()
  }

  /** Sorted by precedence; the last route is the catch-all. */
  #makeRoutes(): readonly Route[] {
    const uids = new Map(readLevels(this.#registry).map(({ metadata }) => [metadata.name, metadata.uid]))
    const routes = readSchemas(this.#registry)
      .toSorted(byPrecedence)
      .flatMap(schema => {
        const name = schema.spec?.priorityLevelConfiguration.name ?? ''
        const level = this.#levels.get(name)
        // A flow schema with a missing priority level is ignored.
        if (level === undefined) return []
        const headers = {
          'x-kubernetes-pf-flowschema-uid': schema.metadata.uid,
          'x-kubernetes-pf-prioritylevel-uid': uids.get(name) ?? '',
        }
        return [{ schema, level, headers }]
      })
    return [...routes, { schema: undefined, level: this.#levels.get('catch-all')!, headers: undefined }]
  }

  #plan(nowMs: number): void {
    this.#plannedMs = nowMs
    const levels = [...this.#levels.values()]
    const plans = planConcurrencyLimits(
      levels.map(level => ({
        ...level.bounds,
        isExempt: level.isExempt,
        demand: level.demand.takePeriod(nowMs),
        smoothed: level.smoothed,
      })),
      this.#seats,
    )
    for (const [index, level] of levels.entries()) {
      const { limit, smoothed } = plans[index]!
      level.smoothed = smoothed
      level.setLimit(limit)
    }
  }
}

/** Interval for adjusting borrowed seats; only while requests arrive. */
const planMs = 10_000

export interface LevelSummary {
  readonly name: string
  readonly limit: number
  readonly running: number
  readonly nominal: number
  readonly min: number
  readonly max: number
}

interface Route {
  readonly schema: Stored<FlowSchema> | undefined
  readonly level: PriorityLevel
  readonly headers: Readonly<Record<string, string>> | undefined
}

interface UserRoute {
  readonly route: Route
  readonly rules: readonly PolicyRulesWithSubjects[]
}

interface Wanted {
  readonly level: PriorityLevel
  readonly seats: number
  readonly flow: string
}

/** Releases the seat when the response is ready, without delaying the response. */
function serve(
  level: PriorityLevel,
  seat: OccupiedSeats,
  run: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const finish = (): void => level.finish(seat)
  let response: Promise<ApiResponse>
  try {
    response = run()
  } catch (error) {
    finish()
    throw error
  }
  response.then(finish, finish)
  return response
}

/**
 * Estimates the seats a request occupies: a large list counts as several requests. `nominalSeats` is the
 * nominal concurrency limit of the priority level.
 */
function estimateSeats(
  { cache, scheme }: Pick<Registry, 'cache' | 'scheme'>,
  context: RequestContext,
  nominalSeats: number,
): number {
  const { info } = context
  if (!info.isResource || info.name !== '' || (info.verb !== 'list' && info.verb !== 'watch')) return 1
  const { query } = context.request
  if (info.verb === 'watch' && !beginsWithAll(query)) return 1
  const resource = scheme.byResource(info)
  if (resource === undefined) return 1
  const prefix = prefixOf(resource, info.namespace)
  const objects = cache.countAfter(prefix, prefix)
  if (objects <= objectsPerSeat) return 1
  const limit = Number(query.get('limit')) || objects
  const seats = Math.ceil(Math.min(limit, objects) / objectsPerSeat)
  return Math.max(1, Math.min(seats, seatsMax, Math.ceil(nominalSeats * shareMax)))
}

/** A watch without a resourceVersion to resume from starts with a full list. */
function beginsWithAll(query: URLSearchParams): boolean {
  const version = query.get('resourceVersion')
  return version === null || version === '' || version === '0' || query.get('sendInitialEvents') === 'true'
}

const objectsPerSeat = 100
const seatsMax = 10
/** Maximum fraction of its level's seats that one list may occupy. */
const shareMax = 0.15
