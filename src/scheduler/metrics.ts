/** The `scheduler_*` metrics, with the names, labels and buckets of kube-scheduler. */
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'
import type { Clock } from '#/platform/platform.ts'
import { CycleMetrics, pluginBuckets, pluginMetrics, type PluginMetrics } from './cycle/cycle-metrics.ts'

export type { CycleMetrics } from './cycle/cycle-metrics.ts'

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error'
export type QueueName = 'active' | 'backoff' | 'unschedulable'

/** Values that the scheduler keeps anyway, read at each scrape. */
export interface SchedulerGauges {
  /** Number of pods in each queue. */
  readonly pendingPods: () => Readonly<Record<QueueName | 'gated', number>>
  /** Number of rejected pods by plugin and profile. */
  readonly unschedulablePods: () => Iterable<readonly [labels: readonly [string, string], pods: number]>
  readonly inFlightEvents: () => Iterable<readonly [labels: readonly [event: string], count: number]>
  readonly cacheSizes: () => Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>>
}

/** The durations of plugins are measured in one of this number of scheduling cycles. */
const cyclesPerSample = 10

const attemptBuckets = exponentialBuckets(0.001, 2, 15)
const longBuckets = exponentialBuckets(0.01, 2, 20)

/** More attempts share one label value. */
const attemptsMax = 15

export class SchedulerMetrics {
  readonly schedulingAlgorithmSeconds: HistogramSeries
  readonly podSchedulingAttempts: HistogramSeries
  readonly podsScheduledAfterFlush: ScalarSeries
  readonly preemptionAttempts: ScalarSeries
  readonly preemptionVictims: HistogramSeries
  readonly #registry: MetricsRegistry
  readonly #clock: Clock
  readonly #attempts: ScalarMetric
  readonly #attemptDuration: Histogram
  readonly #sliDuration: Histogram
  readonly #incoming: ScalarMetric
  readonly #eventHandling: Histogram
  readonly #queueingHints: Histogram
  readonly #permitWait: Histogram
  readonly #preemptionDuration: Histogram
  readonly #preemptions: ScalarMetric
  readonly #resourceClaimCreates: ScalarMetric
  readonly #plugins: PluginMetrics
  #cycles = 0

  constructor(registry: MetricsRegistry, clock: Clock) {
    this.#registry = registry
    this.#clock = clock
    const make = makers(registry)
    this.#attempts = make.counter('schedule_attempts_total', 'STABLE', {
      help: 'Scheduling attempts by result: unschedulable if no node fits the pod, error if the scheduler failed.',
      labels: ['result', 'profile'],
    })
    this.#attemptDuration = make.histogram('scheduling_attempt_duration_seconds', 'STABLE', {
      help: 'Duration of scheduling attempts, from the queue to the end of the binding.',
      labels: ['result', 'profile'],
      buckets: attemptBuckets,
    })
    this.schedulingAlgorithmSeconds = make
      .histogram('scheduling_algorithm_duration_seconds', 'ALPHA', {
        help: 'Time to choose a node.',
        buckets: attemptBuckets,
      })
      .with()
    this.#sliDuration = make.histogram('pod_scheduling_sli_duration_seconds', 'BETA', {
      help: 'Time from the first attempt until the pod is bound.',
      labels: ['attempts'],
      buckets: longBuckets,
    })
    this.podSchedulingAttempts = make
      .histogram('pod_scheduling_attempts', 'STABLE', {
        help: 'Attempts until the pod is bound.',
        buckets: exponentialBuckets(1, 2, 5),
      })
      .with()
    this.podsScheduledAfterFlush = make
      .counter('pod_scheduled_after_flush_total', 'ALPHA', {
        help: 'Pods bound after a retry without an event, because they had been unschedulable for too long.',
      })
      .with()
    this.#incoming = make.counter('queue_incoming_pods_total', 'STABLE', {
      help: 'Pods added to a queue, by queue and event.',
      labels: ['queue', 'event'],
    })
    this.#eventHandling = make.histogram('event_handling_duration_seconds', 'ALPHA', {
      help: 'Time to handle a cluster event.',
      labels: ['event'],
      buckets: exponentialBuckets(0.0001, 2, 12),
    })
    this.#queueingHints = make.histogram('queueing_hint_execution_duration_seconds', 'ALPHA', {
      help: 'Duration of a queueing hint.',
      labels: ['plugin', 'event', 'hint'],
      buckets: pluginBuckets,
    })
    this.#permitWait = make.histogram('permit_wait_duration_seconds', 'BETA', {
      help: 'Time that pods wait at the extension point Permit.',
      labels: ['result'],
      buckets: attemptBuckets,
    })
    const preemption = preemptionMetrics(make)
    this.preemptionAttempts = preemption.attempts
    this.preemptionVictims = preemption.victims
    this.#preemptionDuration = preemption.duration
    this.#preemptions = preemption.executions
    this.#resourceClaimCreates = make.counter('resourceclaim_creates_total', 'ALPHA', {
      help: 'Requests of the scheduler to create ResourceClaims for extended resources.',
      labels: ['status'],
    })
    this.#plugins = pluginMetrics(registry)
  }

  /** The metrics of one scheduling cycle, which began at `startMs`, and its binding cycle. */
  cycle(profile: string, startMs: number): CycleMetrics {
    const isSampled = this.#cycles++ % cyclesPerSample === 0
    return new CycleMetrics({ metrics: this.#plugins, clock: this.#clock, profile, isSampled, startMs })
  }

  attempted(result: AttemptResult, profile: string, startMs: number): void {
    this.#attempts.with(result, profile).add()
    this.#attemptDuration.with(result, profile).observe(this.#secondsSince(startMs))
  }

  /** The pod has been bound. */
  podScheduled(attempts: number, initialAttemptMs: number): void {
    const label = attempts >= attemptsMax ? `${attemptsMax}+` : String(attempts)
    this.podSchedulingAttempts.observe(attempts)
    this.#sliDuration.with(label).observe(this.#secondsSince(initialAttemptMs))
  }

  incoming(queue: QueueName, event: string): void {
    this.#incoming.with(queue, event).add()
  }

  eventHandled(event: string, startMs: number): void {
    this.#eventHandling.with(event).observe(this.#secondsSince(startMs))
  }

  /** The results of a plugin's queueing hint. */
  queueingHint(plugin: string, event: string): QueueingHintMetrics {
    return {
      queue: this.#queueingHints.with(plugin, event, 'Queue'),
      skip: this.#queueingHints.with(plugin, event, 'QueueSkip'),
    }
  }

  permitWaited(result: 'Success' | 'Unschedulable', startMs: number): void {
    this.#permitWait.with(result).observe(this.#secondsSince(startMs))
  }

  preempted(result: 'success' | 'error', startMs: number): void {
    this.#preemptions.with(result).add()
    this.#preemptionDuration.with(result).observe(this.#secondsSince(startMs))
  }

  resourceClaimCreated(status: 'success' | 'failure'): void {
    this.#resourceClaimCreates.with(status).add()
  }

  /** Registers the gauges; at most one call. */
  addGauges({ pendingPods, unschedulablePods, inFlightEvents, cacheSizes }: SchedulerGauges): void {
    const { gauge } = makers(this.#registry)
    const entries = (values: Readonly<Record<string, number>>): (readonly [readonly string[], number])[] =>
      Object.entries(values).map(([label, value]) => [[label], value])
    gauge('pending_pods', 'STABLE', {
      help: 'Pending pods by queue; gated pods have never been attempted.',
      labels: ['queue'],
      read: () => entries(pendingPods()),
    })
    gauge('unschedulable_pods', 'BETA', {
      help: 'Unschedulable pods by plugin; a pod counts for each plugin that rejected it.',
      labels: ['plugin', 'profile'],
      read: unschedulablePods,
    })
    gauge('inflight_events', 'ALPHA', {
      help: 'Pods in scheduling cycles, and events kept for them.',
      labels: ['event'],
      read: inFlightEvents,
    })
    gauge('cache_size', 'ALPHA', {
      help: 'Nodes, pods and assumed pods in the cache.',
      labels: ['type'],
      read: () => entries(cacheSizes()),
    })
  }

  #secondsSince(startMs: number): number {
    return (this.#clock.monotonicMs() - startMs) / 1_000
  }
}

export interface QueueingHintMetrics {
  readonly queue: HistogramSeries
  readonly skip: HistogramSeries
}

type Options<Kind extends 'counter' | 'histogram' | 'callbackMetric'> = Omit<
  Parameters<MetricsRegistry[Kind]>[0],
  'name' | 'stability' | 'type'
>
type Stability = 'ALPHA' | 'BETA' | 'STABLE'

function preemptionMetrics(make: ReturnType<typeof makers>) {
  return {
    attempts: make.counter('preemption_attempts_total', 'STABLE', { help: 'Preemption attempts.' }).with(),
    victims: make
      .histogram('preemption_victims', 'STABLE', {
        help: 'Victims of a preemption.',
        buckets: exponentialBuckets(1, 2, 7),
      })
      .with(),
    duration: make.histogram('preemption_goroutines_duration_seconds', 'ALPHA', {
      help: 'Duration of asynchronous preemptions.',
      labels: ['result'],
      buckets: longBuckets,
    }),
    executions: make.counter('preemption_goroutines_execution_total', 'ALPHA', {
      help: 'Asynchronous preemptions.',
      labels: ['result'],
    }),
  }
}

function makers(registry: MetricsRegistry) {
  return {
    counter: (name: string, stability: Stability, options: Options<'counter'>): ScalarMetric =>
      registry.counter({ name: `scheduler_${name}`, stability, ...options }),
    histogram: (name: string, stability: Stability, options: Options<'histogram'>): Histogram =>
      registry.histogram({ name: `scheduler_${name}`, stability, ...options }),
    gauge: (name: string, stability: Stability, options: Options<'callbackMetric'>): void =>
      registry.callbackMetric({ name: `scheduler_${name}`, stability, type: 'gauge', ...options }),
  }
}
