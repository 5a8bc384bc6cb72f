/** The seats and queues of one priority level. */
import type { Clock } from '#/platform/platform.ts'
import { FairQueues, type DispatchedWork, type QueuingLimits, type QueuedRequest } from './fair-queues.ts'
import type { ConcurrencyBounds, Shares } from './plan-concurrency-limits.ts'
import { SeatDemand } from './seat-demand.ts'

export interface LevelConfiguration extends Shares {
  /** When undefined, requests without a free seat are rejected. */
  readonly queuing: QueuingLimits | undefined
}

/** Seats occupied by a request until `finish`. */
export interface OccupiedSeats {
  readonly seats: number
  /** Undefined if the request was not queued. */
  readonly charge: DispatchedWork | undefined
  readonly startedMs: number
}

/** Reasons for rejecting a request. */
export type RejectReason = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled'

export class PriorityLevel {
  readonly name: string
  readonly demand: SeatDemand
  readonly #clock: Clock
  #configuration: LevelConfiguration
  #queues: FairQueues | undefined
  #running = 0
  #limit = 0
  #bounds: ConcurrencyBounds = { nominal: 0, min: 0, max: 0 }
  /** Smoothed demand of the last plan. */
  smoothed = 0

  constructor(name: string, configuration: LevelConfiguration, clock: Clock) {
    this.name = name
    this.#clock = clock
    this.#configuration = configuration
    this.demand = new SeatDemand(clock.monotonicMs())
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

  configure(configuration: LevelConfiguration): void {
    this.#configuration = configuration
    this.#adoptQueuing()
  }

  setBounds(bounds: ConcurrencyBounds): void {
    const isNew = this.#bounds.nominal !== bounds.nominal
    this.#bounds = bounds
    if (isNew) this.setLimit(bounds.nominal)
  }

  setLimit(seats: number): void {
    this.#limit = seats
    this.#startWaiting()
  }

  /** Takes seats immediately; undefined if there are not enough or requests are queued. */
  tryStart(seats: number): OccupiedSeats | undefined {
    const isFree =
      this.isExempt || (this.#fits(seats) && (this.#queues === undefined || this.#queues.isEmpty))
    if (!isFree) return undefined
    const nowMs = this.#clock.monotonicMs()
    this.#running += seats
    this.demand.add(seats, nowMs)
    return { seats, charge: undefined, startedMs: nowMs }
  }

  /** Queues the request until seats are free. */
  wait(
    flow: string,
    seats: number,
    signal: AbortSignal,
  ): Promise<OccupiedSeats | RejectReason> | RejectReason {
    const queues = this.#queues
    if (queues === undefined || this.#configuration.queuing === undefined) return 'concurrency-limit'
    const { promise, resolve } = Promise.withResolvers<OccupiedSeats | RejectReason>()
    const leave = (refusal: RejectReason): void => {
      stopWaiting()
      queues.leave(queue!, waiting)
      this.demand.add(-seats, this.#clock.monotonicMs())
      resolve(refusal)
      this.#startWaiting()
    }
    const waiting: QueuedRequest = {
      seats,
      isCanceled: false,
      start: charge => {
        stopWaiting()
        resolve({ seats, charge, startedMs: this.#clock.monotonicMs() })
      },
    }
    const queue = queues.add(flow, waiting)
    if (queue === undefined) return 'queue-full'
    const cancel = (): void => leave('cancelled')
    const timer = this.#clock.setTimer(waitMsMax, () => leave('time-out'))
    const stopWaiting = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', cancel)
    }
    this.demand.add(seats, this.#clock.monotonicMs())
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return promise
  }

  finish({ seats, charge, startedMs }: OccupiedSeats): void {
    const nowMs = this.#clock.monotonicMs()
    this.#running -= seats
    this.demand.add(-seats, nowMs)
    if (charge) this.#queues?.finish(charge, nowMs - startedMs)
    if (this.#queues?.isEmpty === false) this.#startWaiting()
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
      if (!this.isExempt && !this.#fits(request.seats)) return
      const charge = queues.start(queue)
      this.#running += request.seats
      request.start(charge)
    }
  }

  /** Existing queues are kept until they are empty, even if queuing was disabled. */
  #adoptQueuing(): void {
    const { queuing } = this.#configuration
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
