/** One API server on a simulated host, which crashes, restarts, and serves clients on other hosts. */
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import type { Platform } from '#/platform/platform.ts'
import type { SimulatedHost, Simulation } from '#/platform/simulated.ts'
import { StoreError, type Store } from '#/store/store.ts'
import { platformOf } from '../host-platform.ts'
import { withChangedWatches } from '../overridden-store.ts'
import { lifeOf, SimulatedConnections, type Handle } from '../simulated-connections.ts'

export interface SimulatedServerOptions {
  readonly name: string
  readonly simulation: Simulation
  /** Opens the store for a new process of the server. */
  readonly openStore: (host: SimulatedHost) => Promise<Store>
  readonly plantedBug: PlantedBug
  readonly onViolation: (violation: string) => void
}

/** A bug, for proving that it is found. */
export interface PlantedBug {
  readonly store?: (store: Store) => Store
  readonly handle?: (handle: Handle) => Handle
}

interface Running {
  readonly server: ApiServer
  readonly store: Store
  readonly handle: Handle
}

export class SimulatedServer {
  readonly connections: SimulatedConnections
  /** Delay of the events of the store's watches, at most: the watch cache is behind by so much. */
  watchLagMsMax = 0
  readonly #options: SimulatedServerOptions
  /** Hosts of clients. */
  readonly #clients: string[] = []
  #running: Running | undefined

  constructor(options: SimulatedServerOptions) {
    const { simulation, onViolation } = options
    this.#options = options
    const serverFor = (): Handle | undefined => this.#running?.handle
    this.connections = new SimulatedConnections({ serverFor, nowMs: () => simulation.nowMs, onViolation })
  }

  get host(): SimulatedHost {
    const { simulation, name } = this.#options
    return simulation.host(name)
  }

  /** The store that the server uses, while it runs. */
  get store(): Store | undefined {
    return this.#running?.store
  }

  /** A connection of a client. */
  connect(host: SimulatedHost): Handle {
    this.#clients.push(host.name)
    return this.connections.from(lifeOf(host))
  }

  /** Resolves when the server is ready. Repeats while the disk or the connection to the store fails. */
  async start(): Promise<void> {
    const { openStore, simulation } = this.#options
    for (;;) {
      const opening = new AsyncDisposableStack()
      try {
        const store = opening.use(await openStore(this.host))
        this.#running = await this.#serve(store)
        return
      } catch (error) {
        if (!isStoreFailure(error)) throw error
        simulation.record(`the API server does not start: ${error.message}`)
        await opening.disposeAsync()
        await simulation.clock.sleep(restartDelayMs)
      }
    }
  }

  /** The power of the host fails. */
  crash(): void {
    const running = this.#running
    this.#running = undefined
    this.host.crash()
    void running?.server.stop()
    this.connections.reset(this.#clients)
  }

  async restart(): Promise<void> {
    this.host.restart()
    await this.start()
  }

  /** A power failure of a moment. */
  async powerCycle(): Promise<void> {
    this.crash()
    await this.#options.simulation.clock.sleep(restartDelayMs)
    await this.restart()
  }

  /** Stops in order. */
  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    this.connections.reset(this.#clients)
    await running?.server.stop()
    await running?.store[Symbol.asyncDispose]()
  }

  async #serve(opened: Store): Promise<Running> {
    const { plantedBug } = this.#options
    const platform = platformOf(this.host)
    const store = this.#lagging(plantedBug.store?.(opened) ?? opened, platform)
    const admission = await readAdmission(platform.files, { disable: ['ServiceAccount'] })
    const server = await ApiServer.start({ platform, store, admission, build: { version: '0.0.0' } })
    return { server, store, handle: plantedBug.handle?.(server.handle) ?? server.handle }
  }

  #lagging(store: Store, { clock, random }: Platform): Store {
    return withChangedWatches(store, async batch => {
      if (this.watchLagMsMax > 0) await clock.sleep(random.integer('watch lag', this.watchLagMsMax))
      return batch
    })
  }
}

const restartDelayMs = 200

/** True if the disk failed, or the store cannot be reached. */
function isStoreFailure(error: unknown): error is Error {
  if (error instanceof StoreError) return error.reason === 'closed' || error.reason === 'unavailable'
  const { code } = error as { readonly code?: string }
  return code === 'EIO' || code === 'ENOSPC'
}
