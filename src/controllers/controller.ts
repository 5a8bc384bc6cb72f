/**
 * The one loop that all controllers share. A controller is a value: it names the informers it reads, says which
 * changes put which keys into its queue, and how one key is worked on. The loop does the rest: it works with several
 * keys at once but never with one key twice, brings back a key whose work failed, later and later, and begins work on
 * a key only when the informers show everything that the last work on it wrote (`own-writes.ts`), so that nobody
 * decides on a state that he himself has changed already.
 *
 * Work on a key reads the world from informers, asks a pure `planX` what to do, and does it. It may be cut off between
 * any two writes: the next pass, here or in another process, must complete what is left.
 */
import { isNamespaceGoing } from '#/api/errors.ts'
import { parseKey, type KubernetesObject, type NamespacedName } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { Informers } from '#/client/informers.ts'
import type { Selection } from '#/client/reflector.ts'
import { WorkQueue, type Again, type WorkQueueMetrics } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import { OwnWrites } from './controller/own-writes.ts'
import { rememberingClient } from './controller/remembering-client.ts'

export interface Controller {
  /** As `--controllers` knows it: `replicaset-controller`. */
  readonly name: string
  /** The service account in `kube-system` whose rights it has; when absent, those of the controller manager. */
  readonly account?: string
  /** How events name it; the account, or else the name, when absent. */
  readonly component?: string
  /** How many keys it works with at a time. */
  readonly workers?: number
  /** Called once, before the informers run. */
  setUp(context: ControllerContext): Reconcile
}

/** Works on a key. Throwing brings the key back later; so does what it returns. */
export type Reconcile = (work: Work) => Promise<void | Again>

/** One pass over one key. */
export interface Work extends NamespacedName {
  readonly key: string
  /** What is written with it is waited for before the next pass over the key. */
  readonly client: Client
  readonly signal: AbortSignal
}

export interface ControllerContext {
  readonly platform: Platform
  readonly recorder: EventRecorder
  /** For work outside of a pass over a key: nobody waits for what it writes. */
  readonly client: Client
  /** All objects of a kind, or some of them. The loop begins when all informers that were asked for have synced. */
  readonly informer: <T extends KubernetesObject>(resource: Resource<T>, selection?: Selection) => Informer<T>
  /** A key is worked on soon, or after a time. */
  readonly enqueue: (key: string, afterMs?: number) => void
  /** Something that runs beside the work on keys, from when the informers have synced until aborted. */
  readonly background: (run: (signal: AbortSignal) => Promise<void>) => void
}

export interface ControllerLoopOptions {
  readonly controller: Controller
  readonly platform: Platform
  /** With the identity of the controller. */
  readonly client: Client
  /** Shared by all controllers of the process. */
  readonly informers: Informers
}

/** As in Kubernetes' controller manager, where most have five. */
const workersUsual = 5

export class ControllerLoop {
  readonly #options: ControllerLoopOptions
  readonly #queue: WorkQueue
  readonly #recorder: EventRecorder
  readonly #writes = new OwnWrites()
  readonly #informers = new Set<Pick<Informer<KubernetesObject>, 'waitForSync'>>()
  readonly #backgrounds: ((signal: AbortSignal) => Promise<void>)[] = []
  readonly #reconcile: Reconcile

  constructor(options: ControllerLoopOptions) {
    const { controller, platform, client } = options
    const { name, account = name, component = account } = controller
    this.#options = options
    this.#queue = new WorkQueue({ platform, name })
    this.#recorder = new EventRecorder({ client, platform, component })
    this.#reconcile = controller.setUp(this.#context())
  }

  get name(): string {
    return this.#queue.name
  }

  /** Works until aborted, and resolves when the work under way is done. */
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
        if (!signal.aborted) platform.log.error('a controller lost a part', { controller: this.name, error })
      }
    })
    const { workers = workersUsual } = controller
    await this.#queue.run({ workers, signal, work: key => this.#work(key, signal) })
    await Promise.all([recording, ...backgrounds])
  }

  /** Whether nothing waits to be worked on now; what is to be looked at later does not count. */
  get isIdle(): boolean {
    const { depth, working } = this.#queue.metrics()
    return depth === 0 && working === 0
  }

  /** Keys that wait or are worked on now. */
  get busyKeys(): readonly string[] {
    return this.#queue.busyKeys()
  }

  metrics(): WorkQueueMetrics {
    return this.#queue.metrics()
  }

  async #work(key: string, signal: AbortSignal): Promise<void | Again> {
    await this.#writes.seen(key, signal)
    const client = rememberingClient(this.#options.client, this.#writes, key)
    try {
      return await this.#reconcile({ ...nameIn(key), key, client, signal })
    } catch (error) {
      // Nothing can be made in a namespace that is going away, and soon nothing is left that would want to.
      if (isNamespaceGoing(error)) return undefined
      throw error
    }
  }

  #context(): ControllerContext {
    const { platform, client, informers } = this.#options
    return {
      platform,
      client,
      recorder: this.#recorder,
      informer: (resource, selection) => {
        const informer = informers.of(resource, selection)
        this.#informers.add(informer)
        // Who sees a part only may never see what was written.
        if (selection === undefined) this.#writes.follow(resource, informer)
        return informer
      },
      enqueue: (key, afterMs = 0) => this.#queue.addAfter(key, afterMs),
      background: run => void this.#backgrounds.push(run),
    }
  }
}

/** Keys need not be names of objects: a controller may put whatever it likes before a name. */
function nameIn(key: string): NamespacedName {
  const parts = key.split('/')
  return parts.length === 2 ? parseKey(key) : { namespace: '', name: key }
}
