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
import { byPrecedence, includesRequest, rulesFor } from './flow-control/match-flow.ts'
import { FlowRequest } from './flow-control/flow-request.ts'
import { isLongRunning, tooManyRequestsError, type InFlightLimits } from './flow-control/max-in-flight.ts'
import { boundsOf, planConcurrencyLimits } from './flow-control/plan-concurrency-limits.ts'
import { PriorityLevel, type LevelConfiguration, type OccupiedSeats } from './flow-control/priority-level.ts'
import { Metrics } from './metrics.ts'
import type { FlowSeries } from './metrics/flow-control.ts'
import type { TimingRatio } from './metrics/timing-ratio.ts'
import type { Next, Stage } from './pipeline.ts'
import type { Registry } from './registry/registry.ts'
import type { ApiResponse, RequestContext, UserInfo } from './request.ts'
import { keyOf, prefixOf } from './registry/store-keys.ts'

/** Limits on concurrent requests, and the mechanism that enforces them. */
export interface RequestLimits extends InFlightLimits {
  readonly fairness: 'priority and fairness' | 'max in flight'
}

export interface FlowControlOptions {
  readonly registry: Pick<Registry, 'platform' | 'cache' | 'scheme' | 'metrics'>
  /** Total concurrency limit: the sum of `--max-requests-inflight` and `--max-mutating-requests-inflight`. */
  readonly seats: number
}

export class FlowControl {
  readonly #registry: FlowControlOptions['registry']
  readonly #clock: Clock
  readonly #seats: number
  readonly #metrics: Metrics
  readonly #kinds: Readonly<Record<RequestPhase, Readonly<Record<'mutating' | 'readOnly', TimingRatio>>>>
  /** By name; contains exactly the configured and mandatory levels. */
  readonly #levels = new Map<string, PriorityLevel>()
  #routes: readonly Route[] | undefined
  /** Routes with rules that match a user. Replaced whenever the configuration changes. */
  #routesOfUsers = new WeakMap<UserInfo, readonly UserRoute[]>()
  #plannedMs: number
  #fairFraction = 0

  constructor({ registry, seats }: FlowControlOptions) {
    this.#registry = registry
    this.#clock = registry.platform.clock
    this.#seats = seats
    const nowMs = this.#clock.monotonicMs()
    this.#plannedMs = nowMs
    const metrics = registry.metrics ?? new Metrics()
    this.#metrics = metrics
    const kindsOf = (phase: RequestPhase) => ({
      mutating: metrics.flowControl.kindRatio(phase, 'mutating', nowMs),
      readOnly: metrics.flowControl.kindRatio(phase, 'readOnly', nowMs),
    })
    this.#kinds = { waiting: kindsOf('waiting'), executing: kindsOf('executing') }
    metrics.flowControl.read({
      advance: () => this.#advance(),
      levels: () => this.priorityLevels.map(({ figures }) => figures),
      fairFraction: () => this.#fairFraction,
    })
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
    const route = this.#routeOf(context)
    const { level, headers } = route
    if (headers)
      context.responseHeaders = context.responseHeaders ? { ...context.responseHeaders, ...headers } : headers
    const flowRequest = this.#classify(context, route)
    const seat = level.tryStart(flowRequest)
    return seat ? this.#serve(level, seat, next) : this.#wait(level, flowRequest, next)
  }

  /** Limits and seats in use of each level, for monitoring. */
  get levels(): readonly LevelSummary[] {
    return this.priorityLevels.map(({ name, limit, running, bounds }) => ({
      name,
      limit,
      running,
      ...bounds,
    }))
  }

  get priorityLevels(): readonly PriorityLevel[] {
    this.#currentRoutes()
    return [...this.#levels.values()]
  }

  #classify(context: RequestContext, route: Route): FlowRequest {
    const { level, schema } = route
    const schemaName = schema?.metadata.name ?? 'catch-all'
    const series = (route.series ??= this.#metrics.flowControl.flow(level.name, schemaName))
    const seats = level.isExempt ? 1 : estimateSeats(this.#registry, context, level.bounds.nominal)
    series.estimatedSeats.observe(seats)
    const flowRequest = new FlowRequest({
      context,
      schema,
      series,
      seats,
      arrivedMs: this.#clock.monotonicMs(),
    })
    if (!flowRequest.isReading) series.watchCount.observe(this.#countWatches(context))
    return flowRequest
  }

  /** The watches to which a change by this request would be sent. */
  #countWatches({ info }: RequestContext): number {
    const resource = info.isResource ? this.#registry.scheme.byResource(info) : undefined
    if (!info.isResource || resource === undefined) return 0
    return this.#registry.cache.countSubscribers(keyOf(resource, info.namespace, info.name))
  }

  async #wait(level: PriorityLevel, flowRequest: FlowRequest, next: Next): Promise<ApiResponse> {
    const { context, arrivedMs, isReading } = flowRequest
    const kind = isReading ? 'readOnly' : 'mutating'
    const queue = this.#metrics.requests.inQueue[kind]
    queue.add(1, arrivedMs)
    this.#kinds.waiting[kind].add(1, arrivedMs)
    const outcome = await level.wait(flowRequest)
    const nowMs = this.#clock.monotonicMs()
    queue.add(-1, nowMs)
    this.#kinds.waiting[kind].add(-1, nowMs)
    context.excludedMs += nowMs - arrivedMs
    if (typeof outcome !== 'string') return this.#serve(level, outcome, next)
    context.isTerminated = true
    throw tooManyRequestsError()
  }

  /** Releases the seat when the response is ready, without delaying the response. */
  #serve(level: PriorityLevel, seat: OccupiedSeats, next: Next): Promise<ApiResponse> {
    const { flowRequest, startedMs } = seat
    const executing = this.#kinds.executing[flowRequest.isReading ? 'readOnly' : 'mutating']
    executing.add(1, startedMs)
    const finish = (): void => {
      executing.add(-1, this.#clock.monotonicMs())
      level.finish(seat)
    }
    let response: Promise<ApiResponse>
    try {
      response = next(flowRequest.context)
    } catch (error) {
      finish()
      throw error
    }
    response.then(finish, finish)
    return response
  }

  #advance(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const level of this.priorityLevels) level.advance(nowMs)
    for (const kinds of Object.values(this.#kinds))
      for (const ratio of Object.values(kinds)) ratio.advance(nowMs)
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
      else this.#levels.set(name, this.#createLevel(name, configuration))
    }
    for (const name of this.#levels.keys()) if (!wanted.has(name)) this.#levels.delete(name)
    const totalShares = [...wanted.values()].reduce((sum, { nominalShares }) => sum + nominalShares, 0)
    for (const level of this.#levels.values()) {
      level.setBounds(boundsOf(level.configuration, totalShares, this.#seats))
    }
    this.#setKindLimits()
    this.#routesOfUsers = new WeakMap()
  }

  #createLevel(name: string, configuration: LevelConfiguration): PriorityLevel {
    const clock = this.#clock
    const ratios = this.#metrics.flowControl.ratios(name, clock.monotonicMs())
    return new PriorityLevel({ name, clock, ratios, serverSeats: this.#seats }, configuration)
  }

  #setKindLimits(): void {
    const nowMs = this.#clock.monotonicMs()
    const limits = { waiting: 0, executing: 0 }
    for (const { bounds, configuration } of this.#levels.values()) {
      const { queuing } = configuration
      limits.executing += bounds.nominal
      if (queuing) limits.waiting += queuing.queues * queuing.queueLengthMax
    }
    for (const phase of ['waiting', 'executing'] as const)
      for (const ratio of Object.values(this.#kinds[phase])) ratio.setLimit(limits[phase], nowMs)
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
        return [{ schema, level, headers, series: undefined }]
      })
    const level = this.#levels.get('catch-all')!
    return [...routes, { schema: undefined, level, headers: undefined, series: undefined }]
  }

  #plan(nowMs: number): void {
    this.#plannedMs = nowMs
    const levels = [...this.#levels.values()]
    const plan = planConcurrencyLimits(
      levels.map(level => ({
        ...level.bounds,
        isExempt: level.isExempt,
        demand: level.takeDemand(nowMs),
        smoothed: level.smoothed,
      })),
      this.#seats,
    )
    this.#fairFraction = plan.fairFraction
    for (const [index, level] of levels.entries()) level.adoptPlan(plan.levels[index]!)
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
  /** Set by the first request. */
  series: FlowSeries | undefined
}

type RequestPhase = 'waiting' | 'executing'

interface UserRoute {
  readonly route: Route
  readonly rules: readonly PolicyRulesWithSubjects[]
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
