/**
 * The API servers of a simulated cluster, with their store: one with an embedded store on its disk, or two that share
 * an etcd cluster. Clients reach them as through a load balancer: a host stays with one until that is down.
 */
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import type { Platform } from '#/platform/platform.ts'
import type { SimulatedHost, Simulation } from '#/platform/simulated.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { EtcdStore } from '#/store/etcd.ts'
import type { Store, WatchBatch } from '#/store/store.ts'
import { etcdRequestFaults, etcdWatchFaults } from '../etcd/etcd-faults.ts'
import { SimulatedEtcd } from '../etcd/simulated-etcd.ts'
import { platformOf } from '../host-platform.ts'
import type { Handle } from '../simulated-connections.ts'

/** Small, so that segments are begun and rewritten. */
const segmentBytesMax = 256 * 1024

/** Probability of a fault per request to etcd or watch response, in half of the runs. */
const etcdFaultChance = 0.01

export class ApiServers {
  /** Hosts of the API servers. */
  readonly names: readonly string[]
  readonly etcd: SimulatedEtcd | undefined
  readonly #simulation: Simulation
  /** Those that are up, by host. */
  readonly #running = new Map<string, ApiServer>()
  /** The API server that a client uses, by the client's host. */
  readonly #used = new Map<string, string>()
  /** The embedded store of the API server's process; replaced when the API server restarts. */
  #opened = Promise.withResolvers<OpenedStore>()
  #checkedStore: Store | undefined

  constructor(simulation: Simulation, storeKind: 'embedded' | 'etcd') {
    this.#simulation = simulation
    this.etcd = storeKind === 'etcd' ? new SimulatedEtcd({ simulation }) : undefined
    this.names = this.etcd ? ['api-1', 'api-2'] : ['api']
    const chance = simulation.random.integer('faults of etcd', 2) === 0 ? etcdFaultChance : 0
    this.etcd?.setFaults({ requestFaults: etcdRequestFaults, watchFaults: etcdWatchFaults, chance })
  }

  /** A store for checkers: that of the running API server, or one that is connected to etcd without faults. */
  async store(): Promise<Store> {
    if (this.etcd === undefined) return (await this.#opened.promise).store
    this.#checkedStore ??= openEtcdStore(this.etcd, this.#simulation.host('checker'))
    return this.#checkedStore
  }

  /** All writes, through restarts of the API servers. */
  async *writes(signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    if (this.etcd) return yield* this.etcd.watchAll({ signal })
    let afterRevision = 0
    while (!signal.aborted) {
      const { store, crash } = await this.#opened.promise
      const either = AbortSignal.any([signal, crash.signal])
      for await (const batch of store.watch({ prefix: '/registry/', afterRevision, signal: either })) {
        afterRevision = batch.revision
        yield batch
      }
    }
  }

  /** The API server that the load balancer picks for a host; undefined when all are down. */
  handleFor(hostName: string): Handle | undefined {
    // New hosts are spread over the API servers in turn.
    const used = this.#used.get(hostName) ?? this.names[this.#used.size % this.names.length]!
    const name = this.#running.has(used) ? used : this.names.find(each => this.#running.has(each))
    if (name === undefined) return undefined
    this.#used.set(hostName, name)
    const [handle, { clock }] = [this.#running.get(name)!.handle, this.#simulation.host(name)]
    // A request arrives in a turn of the API server's event loop, and therefore not while it stalls.
    return request => clock.turn().then(() => handle(request))
  }

  /** Hosts that use an API server. */
  usersOf(name: string): readonly string[] {
    return [...this.#used].filter(([, used]) => used === name).map(([hostName]) => hostName)
  }

  async startAll(): Promise<void> {
    for (const name of this.names) await this.start(name)
  }

  async start(name: string): Promise<void> {
    const host = this.#simulation.host(name)
    const platform = platformOf(host)
    const admission = await readAdmission(platform.files, {
      enable: ['NodeRestriction'],
      disable: ['ServiceAccount'],
    })
    const build = { version: '0.0.0' }
    const store = this.etcd ? openEtcdStore(this.etcd, host) : await this.#openEmbedded(platform)
    this.#running.set(
      name,
      await ApiServer.start({ platform, store, admission, build, recordsOrigins: true }),
    )
  }

  /** The host has crashed: nothing more is written by the process. */
  crashed(name: string): void {
    void this.#running.get(name)?.stop()
    this.#running.delete(name)
    if (this.etcd) return
    const { promise } = this.#opened
    this.#opened = Promise.withResolvers()
    void promise.then(({ crash }) => crash.abort())
  }

  stopFaults(): void {
    this.etcd?.setFaults({ chance: 0 })
  }

  stop(): void {
    for (const server of this.#running.values()) void server.stop()
  }

  async #openEmbedded(platform: Platform): Promise<Store> {
    const store = await EmbeddedStore.open({ platform, folder: '/store', segmentBytesMax })
    this.#opened.resolve({ store, crash: new AbortController() })
    return store
  }
}

interface OpenedStore {
  readonly store: Store
  readonly crash: AbortController
}

function openEtcdStore(etcd: SimulatedEtcd, host: SimulatedHost): Store {
  return EtcdStore.open({
    platform: platformOf(host),
    connect: etcd.connect(host),
    endpoints: etcd.endpoints,
  })
}
