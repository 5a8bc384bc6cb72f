/**
 * The reconcile loop shared by all controllers. A controller is a value that names its informers, maps
 * changes to work queue keys, and reconciles one key. The loop runs several keys in parallel but never the
 * same key twice, requeues failed keys with backoff, and starts a reconcile only when the informers show
 * everything that the previous reconcile of that key wrote (`controller/write-barrier.ts`). That replaces
 * upstream's expectations.
 *
 * A reconcile reads from informers, calls a pure `planX` function and performs the plan. It may be
 * interrupted between any two writes; the next reconcile, possibly in another process, must complete the
 * rest.
 */
import { MetricsRegistry } from '#/base/metrics.ts'
import { isNamespaceTerminating } from '#/api/errors.ts'
import { parseKey, type KubernetesObject, type NamespacedName } from '#/api/metadata.ts'
import type { Pass } from '#/api/origin.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { Informers } from '#/client/informers.ts'
import { mergeCauses, PassCauses, type PassCause } from '#/client/pass-causes.ts'
import { PassClient } from '#/client/pass-client.ts'
import type { Selection } from '#/client/reflector.ts'
import { WorkQueue, type ReconcileResult, type WorkQueueMetrics } from '#/client/workqueue.ts'
import type { WorkQueueMetricsProvider } from '#/client/workqueue-metrics.ts'
import type { Platform } from '#/platform/platform.ts'
import { WriteBarrier } from './controller/write-barrier.ts'
import { recordingClient } from './controller/recording-client.ts'

export interface Controller {
  /** As in the `--controllers` flag: `replicaset-controller`. */
  readonly name: string
  /** Service account in `kube-system` used for writes; default the controller manager's own identity. */
  readonly account?: string
  /** Source component in events; default the account, or else the name. */
  readonly component?: string
  /** Name of the work queue in metrics, if it is not that of the controller. */
  readonly queueName?: string
  /** Number of keys reconciled in parallel. */
  readonly workers?: number
  /** Called once, before the informers run. */
  setUp(context: ControllerContext): Reconcile
}

/** Reconciles a key. The key is requeued with backoff if it throws, or after the returned delay. */
export type Reconcile = (request: ReconcileRequest) => Promise<void | ReconcileResult>

/** One reconcile of one key. */
export interface ReconcileRequest extends NamespacedName {
  readonly key: string
  /** Writes through this client must be visible in the informers before the key is reconciled again. */
  readonly client: Client
  readonly signal: AbortSignal
}

export interface ControllerContext {
  readonly platform: Platform
  readonly recorder: EventRecorder
  /** For writes outside a reconcile; the loop does not wait for them to become visible. */
  readonly client: Client
  /**
   * A shared informer, optionally restricted by a selection. The loop starts when all requested informers
   * have synced.
   */
  readonly informer: <T extends KubernetesObject>(resource: Resource<T>, selection?: Selection) => Informer<T>
  /** An informer of the metadata of all objects, which needs less memory. */
  readonly metadataInformer: (resource: Resource) => Informer<KubernetesObject>
  /** Adds a key to the work queue, optionally after a delay. */
  readonly enqueue: (key: string, afterMs?: number) => void
  /** Registers a task that runs beside the reconciles, from when the informers have synced until aborted. */
  readonly background: (run: (signal: AbortSignal) => Promise<void>) => void
  /** For the controller's own metrics, which it registers in `setUp`. */
  readonly metrics: MetricsRegistry
}

export interface ControllerLoopOptions {
  readonly controller: Controller
  readonly platform: Platform
  /** Acts as the controller's service account. */
  readonly client: Client
  /** Shared by all controllers in the process. */
  readonly informers: Informers
  readonly metrics?: MetricsRegistry | undefined
  readonly queueMetrics?: WorkQueueMetricsProvider | undefined
}

/** Shorter delays merge changes, so that the key is queued meanwhile; after longer ones it is due by a time. */
const mergingMsMax = 5_000

/** Five, as for most controllers of kube-controller-manager. */
const workersUsual = 5

export class ControllerLoop {
  readonly #options: ControllerLoopOptions
  readonly #queue: WorkQueue
  readonly #recorder: EventRecorder
  readonly #writes = new WriteBarrier()
  readonly #causes = new PassCauses()
  /** As in events. */
  readonly #component: string
  readonly #informers = new Set<Pick<Informer<KubernetesObject>, 'waitForSync'>>()
  readonly #backgrounds: ((signal: AbortSignal) => Promise<void>)[] = []
  readonly #reconcile: Reconcile

  constructor(options: ControllerLoopOptions) {
    const { controller, platform, client } = options
    const { name, account = name, component = account, queueName = name } = controller
    this.#options = options
    this.#component = component
    this.#queue = new WorkQueue({ platform, name: queueName, metrics: options.queueMetrics })
    this.#recorder = new EventRecorder({ client, platform, component })
    this.#reconcile = controller.setUp(this.#context())
  }

  get name(): string {
    return this.#options.controller.name
  }

  /** Runs until aborted; resolves after reconciles in progress have finished. */
  async run(signal: AbortSignal): Promise<void> {
    const { controller, platform } = this.#options
    const recording = this.#recorder.run(signal)
    try {
      await Promise.all([...this.#informers].map(informer => informer.waitForSync(signal)))
    } catch {
      return
    }
    const backgrounds = this.#backgrounds.map(async run => {
      try {
        await run(signal)
      } catch (error) {
        if (!signal.aborted)
          platform.log.error('Controller background task failed', { controller: this.name, error })
      }
    })
    const { workers = workersUsual } = controller
    await this.#queue.run({ workers, signal, reconcile: key => this.#reconcileKey(key, signal) })
    await Promise.all([recording, ...backgrounds])
  }

  /** True if no key is due or being reconciled; delayed keys do not count. */
  get isIdle(): boolean {
    const { depth, processing: working } = this.#queue.metrics()
    return depth === 0 && working === 0
  }

  /** Keys that are due or being reconciled. */
  get busyKeys(): readonly string[] {
    return this.#queue.busyKeys()
  }

  metrics(): WorkQueueMetrics {
    return this.#queue.metrics()
  }

  async #reconcileKey(key: string, signal: AbortSignal): Promise<void | ReconcileResult> {
    const { client: own, platform } = this.#options
    const taken = this.#causes.take(key) ?? { causes: [], queuedMs: platform.clock.now() }
    let cause: PassCause = taken
    /** Until the key is reconciled again; undefined if it is not. */
    let againMs: number | undefined = 0
    try {
      await this.#writes.waitUntilVisible(key, signal)
      // The informers show these changes already.
      cause = mergeCauses(taken, this.#causes.peek(key))
      const passing = new PassClient(own, this.#begin(key, cause))
      const client = recordingClient(passing, this.#writes, key)
      const result = await this.#reconcile({ ...nameIn(key), key, client, signal })
      againMs = result?.requeueAfterMs
      return result
    } catch (error) {
      // Nothing can be created in a terminating namespace, and the owner will be deleted soon.
      if (!isNamespaceTerminating(error)) throw error
      againMs = undefined
      return undefined
    } finally {
      if (againMs !== undefined)
        this.#causes.keep(key, { ...cause, queuedMs: platform.clock.now() + againMs })
    }
  }

  #begin(key: string, { causes, queuedMs }: PassCause): () => Pass {
    const startedMs = this.#options.platform.clock.now()
    const begun = { component: this.#component, key, causes, queuedMs: Math.min(queuedMs, startedMs) }
    const pass = { ...begun, startedMs, steps: [] }
    return () => pass
  }

  #enqueue(key: string, afterMs: number): void {
    const { platform, informers } = this.#options
    const dueMs = platform.clock.now() + (afterMs > mergingMsMax ? afterMs : 0)
    this.#causes.add(key, dueMs, informers.handled.revision)
    this.#queue.addAfter(key, afterMs)
  }

  #follow<T extends KubernetesObject>(resource: Resource<T>, informer: Informer<T>): Informer<T> {
    this.#informers.add(informer)
    this.#writes.follow(resource, informer)
    return informer
  }

  #context(): ControllerContext {
    const { platform, client, informers, metrics = new MetricsRegistry() } = this.#options
    return {
      platform,
      metrics,
      client,
      recorder: this.#recorder,
      informer: (resource, selection) => this.#follow(resource, informers.of(resource, selection)),
      metadataInformer: resource => this.#follow(resource, informers.ofMetadata(resource)),
      enqueue: (key, afterMs = 0) => this.#enqueue(key, afterMs),
      background: run => void this.#backgrounds.push(run),
    }
  }
}

/** Keys need not be object names: a controller may add a prefix. */
function nameIn(key: string): NamespacedName {
  const parts = key.split('/')
  return parts.length === 2 ? parseKey(key) : { namespace: '', name: key }
}
