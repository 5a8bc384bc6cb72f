/**
 * Several controllers in one process. They share informers, so that there is one watch and one copy of a kind for all
 * of them; what each writes it writes with its own identity and rights.
 */
import { Informers } from '#/client/informers.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { ControllerLoop, type Controller } from './controller.ts'

export interface ControllerManagerOptions {
  readonly platform: Platform
  readonly controllers: readonly Controller[]
  /** Reads for all of them, and writes for those without an account, as `system:kube-controller-manager`. */
  readonly client: Client
  /** A client with the identity of a service account in `kube-system`. */
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

  /** Whether no controller has anything to do now. */
  get isIdle(): boolean {
    return this.#loops.every(loop => loop.isIdle)
  }

  /** Which controllers have something to do now, and with which keys. */
  busy(): ReadonlyMap<string, readonly string[]> {
    const busy = this.#loops.filter(loop => !loop.isIdle)
    return new Map(busy.map(loop => [loop.name, loop.busyKeys]))
  }

  /** Works until aborted, and resolves when the work under way is done. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.informers.run(signal), ...this.#loops.map(loop => loop.run(signal))])
  }
}
