/** The seats and queues of one priority level. */
import type { Clock } from '#/platform/platform.ts'
import type { LevelFigures, LevelRatios } from '../metrics/flow-control.ts'
import { FairQueues, type DispatchedWork, type QueuingLimits, type QueuedRequest } from './fair-queues.ts'
import type { FlowRequest } from './flow-request.ts'
import type { ConcurrencyBounds, Demand, LevelPlan, Shares } from './plan-concurrency-limits.ts'
import { SeatDemand } from './seat-demand.ts'

export interface LevelConfiguration extends Shares {
  /** When undefined, requests without a free seat are rejected. */
  readonly queuing: QueuingLimits | undefined
}

/** Seats occupied by a request until `finish`. */
export interface OccupiedSeats {
  readonly flowRequest: FlowRequest
  /** Undefined if the request was not queued. */
  readonly charge: DispatchedWork | undefined
  readonly startedMs: number
}

/** Reasons for rejecting a request. */
export type RejectReason = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled'

export interface PriorityLevelOptions {
  readonly name: string
  readonly clock: Clock
  readonly ratios: LevelRatios
  /** Seats of the server. */
  readonly serverSeats: number
}

export class PriorityLevel {
  readonly name: string
  readonly #demand: SeatDemand
  readonly #clock: Clock
  readonly #ratios: LevelRatios
  readonly #serverSeats: number
  #configuration: LevelConfiguration
  #queues: FairQueues | undefined
  readonly #executing = new Set<OccupiedSeats>()
  #running = 0
  #limit = 0
  #bounds: ConcurrencyBounds = { nominal: 0, min: 0, max: 0 }
  /** Demand in the last period, and the plan that was made of it. */
  #lastDemand: Demand = { high: 0, average: 0, deviation: 0 }
  #plan: LevelPlan = { limit: 0, smoothed: 0, target: 0 }
  /** Requests since the start. */
  readonly counts = { dispatched: 0, rejected: 0, timedOut: 0, canceled: 0 }

  constructor({ name, clock, ratios, serverSeats }: PriorityLevelOptions, configuration: LevelConfiguration) {
    this.name = name
    this.#serverSeats = serverSeats
    this.#clock = clock
    this.#ratios = ratios
    this.#configuration = configuration
    this.#demand = new SeatDemand(clock.monotonicMs())
    this.#adoptQueuing()
  }

  get isExempt(): boolean {
    return this.#configuration.isExempt
  }

  get configuration(): LevelConfiguration {
    return this.#configuration
  }

  get bounds(): ConcurrencyBounds {
    return this.#bounds
  }

  get limit(): number {
    return this.#limit
  }

  /** Seats in use. */
  get running(): number {
    return this.#running
  }

  get queues(): FairQueues | undefined {
    return this.#queues
  }

  get executing(): ReadonlySet<OccupiedSeats> {
    return this.#executing
  }

  /** Smoothed demand of the last plan. */
  get smoothed(): number {
    return this.#plan.smoothed
  }

  get figures(): LevelFigures {
    const { smoothed, target } = this.#plan
    return {
      name: this.name,
      ...this.#bounds,
      limit: this.#limit,
      demand: this.#lastDemand,
      smoothed,
      target,
      virtualTimes: this.#queues?.virtualTimes,
    }
  }

  configure(configuration: LevelConfiguration): void {
    this.#configuration = configuration
    this.#adoptQueuing()
  }

  setBounds(bounds: ConcurrencyBounds): void {
    const isNew = this.#bounds.nominal !== bounds.nominal
    this.#bounds = bounds
    if (isNew || this.isExempt) this.#setLimit(bounds.nominal)
  }

  /** The demand since the last call. */
  takeDemand(nowMs: number): Demand {
    this.#lastDemand = this.#demand.takePeriod(nowMs)
    return this.#lastDemand
  }

  adoptPlan(plan: LevelPlan): void {
    this.#plan = plan
    this.#setLimit(plan.limit)
  }

  /** Brings the ratios over time up to date. */
  advance(nowMs: number): void {
    for (const ratio of Object.values(this.#ratios)) ratio.advance(nowMs)
  }

  /** Takes seats immediately; undefined if there are not enough or requests are queued. */
  tryStart(flowRequest: FlowRequest): OccupiedSeats | undefined {
    const { seats, arrivedMs } = flowRequest
    const isFree =
      this.isExempt || (this.#fits(seats) && (this.#queues === undefined || this.#queues.isEmpty))
    if (!isFree) return undefined
    this.#addDemand(seats, arrivedMs)
    return this.#begin({ flowRequest, charge: undefined, startedMs: arrivedMs })
  }

  /** Queues the request until seats are free. */
  wait(flowRequest: FlowRequest): Promise<OccupiedSeats | RejectReason> | RejectReason {
    const queues = this.#queues
    if (queues === undefined || this.#configuration.queuing === undefined)
      return this.#reject(flowRequest, 'concurrency-limit')
    const { seats, series, arrivedMs, context } = flowRequest
    const { signal } = context.request
    const { promise, resolve } = Promise.withResolvers<OccupiedSeats | RejectReason>()
    const end = (nowMs: number): void => {
      timer.cancel()
      signal.removeEventListener('abort', cancel)
      this.#addWaiting(flowRequest, -1, nowMs)
    }
    const leave = (refusal: RejectReason): void => {
      const nowMs = this.#clock.monotonicMs()
      end(nowMs)
      queues.leave(queue!, waiting)
      this.#addDemand(-seats, nowMs)
      series.waitedInVain.observe((nowMs - arrivedMs) / 1_000)
      resolve(this.#reject(flowRequest, refusal))
      this.#startWaiting()
    }
    const waiting: QueuedRequest = {
      flowRequest,
      seats,
      isCanceled: false,
      start: charge => {
        const startedMs = this.#clock.monotonicMs()
        end(startedMs)
        series.waitedAndExecuted.observe((startedMs - arrivedMs) / 1_000)
        resolve(this.#begin({ flowRequest, charge, startedMs }))
      },
    }
    const queue = queues.add(`${flowRequest.schemaName}/${flowRequest.distinguisher}`, waiting)
    if (queue === undefined) return this.#reject(flowRequest, 'queue-full')
    series.queueLength.observe(queue.length)
    const cancel = (): void => leave('cancelled')
    const timer = this.#clock.setTimer(waitMsMax, () => leave('time-out'))
    this.#addWaiting(flowRequest, 1, arrivedMs)
    this.#addDemand(seats, arrivedMs)
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return promise
  }

  finish(seat: OccupiedSeats): void {
    const { flowRequest, charge, startedMs } = seat
    const { seats, series, context } = flowRequest
    const nowMs = this.#clock.monotonicMs()
    this.#executing.delete(seat)
    this.#running -= seats
    this.#addDemand(-seats, nowMs)
    this.#ratios.executingRequests.add(-1, nowMs)
    this.#ratios.executingSeats.add(-seats, nowMs)
    series.executingRequests.add(-1)
    series.executingSeats.add(-seats)
    const isWatch = context.info.verb === 'watch'
    const execution = isWatch ? series.watchInitialization : series.execution
    execution.observe((nowMs - startedMs) / 1_000)
    if (charge) this.#queues?.finish(charge, nowMs - startedMs)
    if (this.#queues?.isEmpty === false) this.#startWaiting()
  }

  #begin(seat: OccupiedSeats): OccupiedSeats {
    const { flowRequest, startedMs } = seat
    const { seats, series } = flowRequest
    this.#executing.add(seat)
    this.#running += seats
    this.#ratios.executingRequests.add(1, startedMs)
    this.#ratios.executingSeats.add(seats, startedMs)
    series.dispatched.add()
    series.executingRequests.add()
    series.executingSeats.add(seats)
    this.counts.dispatched++
    return seat
  }

  #reject({ series }: FlowRequest, reason: RejectReason): RejectReason {
    series.rejected(reason)
    if (reason === 'time-out') this.counts.timedOut++
    else if (reason === 'cancelled') this.counts.canceled++
    else this.counts.rejected++
    return reason
  }

  #addDemand(seats: number, nowMs: number): void {
    this.#demand.add(seats, nowMs)
    this.#ratios.demand.add(seats, nowMs)
  }

  #addWaiting({ seats, series }: FlowRequest, amount: 1 | -1, nowMs: number): void {
    this.#ratios.waitingRequests.add(amount, nowMs)
    series.queuedRequests.add(amount)
    series.queuedSeats.add(amount * seats)
  }

  #setLimit(seats: number): void {
    this.#limit = seats
    const nowMs = this.#clock.monotonicMs()
    const { executingRequests, executingSeats, demand } = this.#ratios
    // The seats of an exempt level are not limited, so its ratios are of a tenth of the server's seats.
    const ratioLimit = this.isExempt ? Math.round(this.#serverSeats / 10) : seats
    for (const ratio of [executingRequests, executingSeats, demand]) ratio.setLimit(ratioLimit, nowMs)
    this.#startWaiting()
  }

  /** A request for more seats than the limit runs when no other request does. */
  #fits(seats: number): boolean {
    if (this.#limit === 0) return false
    return this.#running === 0 || this.#running + seats <= this.#limit
  }

  #startWaiting(): void {
    const queues = this.#queues
    for (let first = queues?.peek(); queues && first; first = queues.peek()) {
      const { request, queue } = first
      if (!this.isExempt && !this.#fits(request.seats)) {
        if (this.#running < this.#limit) request.flowRequest.series.noAccommodation()
        return
      }
      request.start(queues.start(queue))
    }
  }

  /** Existing queues are kept until they are empty, even if queuing was disabled. */
  #adoptQueuing(): void {
    const { queuing } = this.#configuration
    const lengthMax = queuing ? queuing.queues * queuing.queueLengthMax : 0
    this.#ratios.waitingRequests.setLimit(lengthMax, this.#clock.monotonicMs())
    if (queuing === undefined) {
      if (this.#queues?.isEmpty !== false) this.#queues = undefined
    } else if (this.#queues) {
      this.#queues.setLimits(queuing)
    } else {
      this.#queues = new FairQueues(queuing)
    }
  }
}

/** Maximum queue wait: a quarter of the default request timeout. */
const waitMsMax = 15_000
