/**
 * Runs several controllers in one process. They share informers, so there is one watch and one cache per
 * resource; each controller writes with its own service account.
 */
import { Informers } from '#/client/informers.ts'
import type { Client } from '#/client/client.ts'
import type { WorkQueueMetrics } from '#/client/workqueue.ts'
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
}

export class ControllerManager {
  readonly informers: Informers
  readonly #loops: readonly ControllerLoop[]

  constructor({ platform, controllers, client, clientFor }: ControllerManagerOptions) {
    const informers = new Informers({ client, platform })
    this.informers = informers
    this.#loops = controllers.map(controller => {
      const { account } = controller
      const own = account === undefined ? client : clientFor(account)
      return new ControllerLoop({ controller, platform, informers, client: own })
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
    await Promise.all([this.informers.run(signal), ...this.#loops.map(loop => loop.run(signal))])
  }
}
