/** Metrics of API Priority and Fairness. */
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'
import { TimingRatio } from './timing-ratio.ts'

/** Series of the requests of one flow schema at its priority level. */
export interface FlowSeries {
  readonly dispatched: ScalarSeries
  readonly executingRequests: ScalarSeries
  readonly executingSeats: ScalarSeries
  readonly queuedRequests: ScalarSeries
  readonly queuedSeats: ScalarSeries
  readonly waitedAndExecuted: HistogramSeries
  readonly waitedInVain: HistogramSeries
  readonly execution: HistogramSeries
  readonly watchInitialization: HistogramSeries
  readonly estimatedSeats: HistogramSeries
  readonly queueLength: HistogramSeries
  readonly watchCount: HistogramSeries
  readonly rejected: (reason: string) => void
  readonly noAccommodation: () => void
}

/** How much of a priority level is in use, over time. */
export interface LevelRatios {
  readonly waitingRequests: TimingRatio
  readonly executingRequests: TimingRatio
  readonly executingSeats: TimingRatio
  readonly demand: TimingRatio
}

export type RequestKind = 'mutating' | 'readOnly'

/** The state of a priority level at a scrape. */
export interface LevelFigures {
  readonly name: string
  readonly nominal: number
  readonly min: number
  readonly max: number
  readonly limit: number
  /** Demand for seats in the last period. */
  readonly demand: { readonly high: number; readonly average: number; readonly deviation: number }
  readonly smoothed: number
  readonly target: number
  /** Undefined for a level without queues. */
  readonly virtualTimes: VirtualTimes | undefined
}

/** Virtual times of fair queuing, in seat-milliseconds. */
export interface VirtualTimes {
  /** The start of the request that was dispatched last. */
  readonly lastDispatched: number
  /** The next starts of the queues with requests; undefined if there are none. */
  readonly next: { readonly min: number; readonly max: number } | undefined
}

export interface FlowControlFigures {
  /** Called first at each scrape. */
  readonly advance: () => void
  readonly levels: () => readonly LevelFigures[]
  readonly fairFraction: () => number
}

export class FlowControlMetrics {
  readonly #registry: MetricsRegistry
  readonly #flows: Readonly<Record<keyof typeof flowFamilies, ScalarMetric>>
  readonly #histograms: Readonly<Record<keyof typeof histogramFamilies, Histogram>>
  readonly #ratios: Readonly<Record<keyof typeof ratioFamilies, Histogram>>

  constructor(registry: MetricsRegistry) {
    this.#registry = registry
    const { gauge, counter } = {
      gauge: (name: keyof typeof flowFamilies) => registry.gauge(flowFamilies[name]),
      counter: (name: keyof typeof flowFamilies) => registry.counter(flowFamilies[name]),
    }
    this.#flows = {
      dispatched: counter('dispatched'),
      rejected: counter('rejected'),
      noAccommodation: counter('noAccommodation'),
      executingRequests: gauge('executingRequests'),
      executingSeats: gauge('executingSeats'),
      queuedRequests: gauge('queuedRequests'),
      queuedSeats: gauge('queuedSeats'),
    }
    this.#histograms = {
      wait: registry.histogram(histogramFamilies.wait),
      execution: registry.histogram(histogramFamilies.execution),
      estimatedSeats: registry.histogram(histogramFamilies.estimatedSeats),
      queueLength: registry.histogram(histogramFamilies.queueLength),
      watchCount: registry.histogram(histogramFamilies.watchCount),
    }
    this.#ratios = {
      demand: registry.histogram(ratioFamilies.demand),
      requests: registry.histogram(ratioFamilies.requests),
      seats: registry.histogram(ratioFamilies.seats),
      readVersusWrite: registry.histogram(ratioFamilies.readVersusWrite),
    }
  }

  flow(level: string, schema: string): FlowSeries {
    const flows = this.#flows
    const histograms = this.#histograms
    return {
      dispatched: flows.dispatched.with(level, schema),
      executingRequests: flows.executingRequests.with(level, schema),
      executingSeats: flows.executingSeats.with(level, schema),
      queuedRequests: flows.queuedRequests.with(level, schema),
      queuedSeats: flows.queuedSeats.with(level, schema),
      waitedAndExecuted: histograms.wait.with(level, schema, 'true'),
      waitedInVain: histograms.wait.with(level, schema, 'false'),
      execution: histograms.execution.with(level, schema, 'regular'),
      watchInitialization: histograms.execution.with(level, schema, 'watch'),
      estimatedSeats: histograms.estimatedSeats.with(level, schema),
      queueLength: histograms.queueLength.with(level, schema),
      watchCount: histograms.watchCount.with(level, schema),
      rejected: reason => flows.rejected.with(level, schema, reason).add(),
      noAccommodation: () => flows.noAccommodation.with(level, schema).add(),
    }
  }

  ratios(level: string, nowMs: number): LevelRatios {
    const { demand, requests, seats } = this.#ratios
    return {
      waitingRequests: new TimingRatio(requests.with(level, 'waiting'), nowMs),
      executingRequests: new TimingRatio(requests.with(level, 'executing'), nowMs),
      executingSeats: new TimingRatio(seats.with(level, 'executing'), nowMs),
      demand: new TimingRatio(demand.with(level), nowMs),
    }
  }

  kindRatio(phase: 'waiting' | 'executing', kind: RequestKind, nowMs: number): TimingRatio {
    return new TimingRatio(this.#ratios.readVersusWrite.with(phase, kind), nowMs)
  }

  /** Read at scrape time. */
  read({ advance, levels, fairFraction }: FlowControlFigures): void {
    this.#registry.beforeRender(advance)
    const add = (name: string, help: string, read: (level: LevelFigures) => number | undefined): void => {
      this.#registry.callbackMetric({
        ...named(name, help, ['priority_level']),
        stability: name === 'nominal_limit_seats' ? 'BETA' : 'ALPHA',
        type: 'gauge',
        read: () =>
          levels().flatMap(level => {
            const value = read(level)
            return value === undefined ? [] : [[[level.name], value] as const]
          }),
      })
    }
    add('nominal_limit_seats', 'Nominal number of seats.', ({ nominal }) => nominal)
    add('lower_limit_seats', 'Seats that are never lent.', ({ min }) => min)
    add('upper_limit_seats', 'Seats with everything that may be borrowed.', ({ max }) => max)
    add('current_limit_seats', 'Seats with what is lent and borrowed now.', ({ limit }) => limit)
    add(
      'demand_seats_high_watermark',
      'Highest demand for seats in the last period.',
      each => each.demand.high,
    )
    add('demand_seats_average', 'Average demand for seats in the last period.', each => each.demand.average)
    add('demand_seats_stdev', 'Deviation of the demand in the last period.', each => each.demand.deviation)
    add('demand_seats_smoothed', 'Smoothed demand for seats.', ({ smoothed }) => smoothed)
    add('target_seats', 'Seats that the level would get if there were enough.', ({ target }) => target)
    const last = ({ virtualTimes }: LevelFigures): number | undefined =>
      virtualTimes && virtualTimes.lastDispatched / 1_000
    add('current_r', 'Virtual time of fair queuing, in seat-seconds.', last)
    add('latest_s', 'Virtual start of the last dispatched request, in seat-seconds.', last)
    this.#registry.callbackMetric({
      ...named('next_s_bounds', 'Virtual starts of the next requests, in seat-seconds.', [
        'priority_level',
        'bound',
      ]),
      type: 'gauge',
      read: () =>
        levels().flatMap(({ name, virtualTimes }) => {
          const { next } = virtualTimes ?? {}
          if (next === undefined) return []
          return [[[name, 'min'], next.min / 1_000] as const, [[name, 'max'], next.max / 1_000] as const]
        }),
    })
    this.#registry.callbackMetric({
      ...named('request_concurrency_limit', 'Nominal number of seats.', ['priority_level']),
      deprecatedVersion: '1.30.0',
      type: 'gauge',
      read: () => levels().map(({ name, nominal }) => [[name], nominal]),
    })
    this.#registry.callbackMetric({
      ...named('seat_fair_frac', 'Fraction of its target that each level gets.'),
      type: 'gauge',
      read: () => [[[], fairFraction()]],
    })
  }
}

function named(name: string, help: string, labels: readonly string[] = []) {
  return { name: `apiserver_flowcontrol_${name}`, help, labels, stability: 'ALPHA' as const }
}

const flowLabels = ['priority_level', 'flow_schema']

const flowFamilies = {
  dispatched: {
    ...named('dispatched_requests_total', 'Requests that were executed.', flowLabels),
    stability: 'BETA',
  },
  rejected: {
    ...named('rejected_requests_total', 'Requests that were rejected, by reason.', [...flowLabels, 'reason']),
    stability: 'BETA',
  },
  noAccommodation: named(
    'request_dispatch_no_accommodation_total',
    'Times that a request at the head of the queues did not fit in the free seats.',
    flowLabels,
  ),
  executingRequests: {
    ...named('current_executing_requests', 'Requests that are executed.', flowLabels),
    stability: 'BETA',
  },
  executingSeats: {
    ...named('current_executing_seats', 'Seats of the requests that are executed.', flowLabels),
    stability: 'BETA',
  },
  queuedRequests: {
    ...named('current_inqueue_requests', 'Requests in queues.', flowLabels),
    stability: 'BETA',
  },
  queuedSeats: named('current_inqueue_seats', 'Seats of the requests in queues.', flowLabels),
} as const

const secondsBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]

const histogramFamilies = {
  wait: {
    ...named('request_wait_duration_seconds', 'Time in a queue.', [...flowLabels, 'execute']),
    stability: 'BETA',
    buckets: secondsBuckets,
  },
  execution: {
    ...named('request_execution_seconds', 'Time of execution; of watches, of their start.', [
      ...flowLabels,
      'type',
    ]),
    buckets: secondsBuckets,
  },
  estimatedSeats: {
    ...named('work_estimated_seats', 'Estimated seats of requests.', flowLabels),
    buckets: [1, 2, 4, 8, 16, 32, 64, 100],
  },
  queueLength: {
    ...named(
      'request_queue_length_after_enqueue',
      'Length of the queue with each added request.',
      flowLabels,
    ),
    buckets: [0, 10, 25, 50, 100, 250, 500, 1000],
  },
  watchCount: {
    ...named('watch_count_samples', 'Watches that each write has to be sent to.', flowLabels),
    buckets: [0, 1, 10, 100, 1000, 10_000],
  },
} as const

const ratioFamilies = {
  demand: {
    ...named('demand_seats', 'Demand for seats, in proportion to the limit, in nanoseconds.', [
      'priority_level',
    ]),
    buckets: [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6],
  },
  requests: {
    ...named(
      'priority_level_request_utilization',
      'Requests waiting and executing, in proportion to the limit, in nanoseconds.',
      ['priority_level', 'phase'],
    ),
    buckets: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
  },
  seats: {
    ...named('priority_level_seat_utilization', 'Seats in use, in proportion to the limit, in nanoseconds.', [
      'priority_level',
      'phase',
    ]),
    buckets: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
  },
  readVersusWrite: {
    ...named(
      'read_vs_write_current_requests',
      'Reading and writing requests, in proportion to the limit, in nanoseconds.',
      ['phase', 'request_kind'],
    ),
    buckets: [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
  },
} as const
