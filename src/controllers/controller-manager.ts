/**
 * Runs several controllers in one process. They share informers, so there is one watch and one cache per
 * resource; each controller writes with its own service account.
 */
import { MetricsRegistry, type ScalarMetric } from '#/base/metrics.ts'
import { Informers } from '#/client/informers.ts'
import type { Client } from '#/client/client.ts'
import type { WorkQueueMetrics } from '#/client/workqueue.ts'
import { WorkQueueMetricsProvider } from '#/client/workqueue-metrics.ts'
import type { Platform } from '#/platform/platform.ts'
import { ControllerLoop, type Controller } from './controller.ts'

export interface ControllerManagerOptions {
  readonly platform: Platform
  readonly controllers: readonly Controller[]
  /**
   * Used for all reads, and for writes of controllers without a service account, as
   * `system:kube-controller-manager`.
   */
  readonly client: Client
  /** A client that acts as a service account in `kube-system`. */
  readonly clientFor: (account: string) => Client
  /** For the metrics of the controllers and, unless `queueMetrics` is given, of their work queues. */
  readonly metrics?: MetricsRegistry | undefined
  /** Shared by several controller managers of a process. */
  readonly queueMetrics?: WorkQueueMetricsProvider | undefined
}

export class ControllerManager {
  readonly informers: Informers
  readonly #loops: readonly ControllerLoop[]
  readonly #runningControllers: ScalarMetric

  constructor(options: ControllerManagerOptions) {
    const { platform, controllers, client, clientFor, metrics = new MetricsRegistry() } = options
    const queueMetrics = options.queueMetrics ?? new WorkQueueMetricsProvider(metrics)
    this.#runningControllers = runningManagedControllers(metrics)
    const informers = new Informers({ client, platform })
    this.informers = informers
    this.#loops = controllers.map(controller => {
      const { account } = controller
      const own = account === undefined ? client : clientFor(account)
      const shared = { platform, informers, metrics, queueMetrics }
      return new ControllerLoop({ ...shared, controller, client: own })
    })
  }

  /** True after the initial lists of all informers are in their caches. */
  get hasSynced(): boolean {
    return this.informers.all().every(informer => informer.hasSynced)
  }

  /** By controller name. */
  metrics(): ReadonlyMap<string, WorkQueueMetrics> {
    return new Map(this.#loops.map(loop => [loop.name, loop.metrics()]))
  }

  /** True if no work queue has keys that are due or being reconciled. */
  get isIdle(): boolean {
    return this.#loops.every(loop => loop.isIdle)
  }

  /** Keys waiting or being reconciled, by controller name. */
  busy(): ReadonlyMap<string, readonly string[]> {
    const busy = this.#loops.filter(loop => !loop.isIdle)
    return new Map(busy.map(loop => [loop.name, loop.busyKeys]))
  }

  /** Runs until aborted; resolves after reconciles in progress have finished. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.informers.run(signal), ...this.#loops.map(loop => this.#runLoop(loop, signal))])
  }

  async #runLoop(loop: ControllerLoop, signal: AbortSignal): Promise<void> {
    const running = this.#runningControllers.with(loop.name, 'kube-controller-manager')
    running.value = 1
    await loop.run(signal)
    running.value = 0
  }
}

function runningManagedControllers(registry: MetricsRegistry): ScalarMetric {
  return registry.gauge({
    name: 'running_managed_controllers',
    help: '1 for each controller that runs.',
    labels: ['name', 'manager'],
    stability: 'BETA',
  })
}
