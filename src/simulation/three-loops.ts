/**
 * An example of a simulation, and a test of the memory store: three writers and a watcher, each on its own
 * host, use a store that crashes repeatedly, over a network that loses, duplicates and delays messages and
 * cuts connections. Checkers look for lost acknowledged writes, duplicate revisions and changes that the
 * watcher missed.
 */
import { assert } from '#/base/assert.ts'
import { Simulation, type DiskFaults, type NetworkFaults, type SimulatedHost } from '#/platform/simulated.ts'
import { StoreDamagedError } from '#/store/embedded.ts'
import type { Store } from '#/store/store.ts'
import { check, noObservations, type Observations } from './three-loops/checkers.ts'
import { storeHost } from './three-loops/messages.ts'
import { bootStore, toNoteEvent } from './three-loops/server.ts'
import { Watcher } from './three-loops/watcher.ts'
import { Writer } from './three-loops/writer.ts'

export interface Verdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  /** The last trace lines. */
  readonly trace: readonly string[]
}

export interface ThreeLoopsOptions {
  /** Overrides the faults of the simulated disk, which by default only does what a real disk may do. */
  readonly disk?: Partial<DiskFaults>
}

const flakyNetwork: Partial<NetworkFaults> = {
  delayMinMs: 0.2,
  delayMaxMs: 4,
  dropRate: 0.1,
  duplicateRate: 0.1,
  reorderRate: 0.1,
  reorderDelayMaxMs: 60,
  refuseRate: 0.1,
  cutRate: 0.05,
  splitRate: 0.2,
}

const faultlessNetwork: Partial<NetworkFaults> = {
  dropRate: 0,
  duplicateRate: 0,
  reorderRate: 0,
  refuseRate: 0,
  cutRate: 0,
  splitRate: 0,
}

/** A sync takes about as long as a network round trip, so that crashes often occur during one. */
const busyDisk: Partial<DiskFaults> = { syncMinMs: 1, syncMaxMs: 8 }

const writers = ['writer-1', 'writer-2', 'writer-3']
const watcherHost = 'watcher'
const writesOfEach = 12
const crashesMin = 3

/** Time for the watcher to catch up at the end, without network faults. */
const catchUpMsMax = 60_000

export async function runThreeLoops(seed: number, options: ThreeLoopsOptions = {}): Promise<Verdict> {
  const simulation = new Simulation({ seed, network: flakyNetwork, disk: { ...busyDisk, ...options.disk } })
  const loops = new ThreeLoops(simulation)
  await simulation.run(loops.run())
  const violations = check(loops.observations)
  return { traceHash: simulation.traceHash(), violations, trace: simulation.trace }
}

class ThreeLoops {
  readonly observations: Observations = noObservations()
  readonly #simulation: Simulation
  readonly #store: SimulatedHost
  readonly #refused = Promise.withResolvers<void>()
  #crashes = 0
  #writing = writers.length

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    this.#store = simulation.host(storeHost)
  }

  /** Ends early when the store refuses to open. */
  async run(): Promise<void> {
    await Promise.race([this.#runAll(), this.#refused.promise])
  }

  async #runAll(): Promise<void> {
    const { observations } = this
    const stop = new AbortController()
    const watcher = new Watcher(this.#simulation.host(watcherHost), observations)
    const watching = watcher.run(stop.signal)
    await bootStore(this.#store)
    const written = Promise.all(writers.map(name => this.#write(name)))
    while (this.#writing > 0 || this.#crashes < crashesMin) await this.#injectFault()
    await written
    const store = await this.#stopFaults()
    await this.#waitForWatcher(watcher, store)
    stop.abort()
    await watching
    await this.#examine(store)
  }

  async #write(name: string): Promise<void> {
    const { observations } = this
    const { delayMaxMs = 0, reorderDelayMaxMs = 0 } = flakyNetwork
    const datagramLifetimeMs = delayMaxMs + reorderDelayMaxMs
    const platform = this.#simulation.host(name)
    await new Writer({ platform, name, writes: writesOfEach, datagramLifetimeMs, observations }).run()
    this.#writing--
  }

  /** Injects one fault and ends it. */
  async #injectFault(): Promise<void> {
    const { clock, network, random } = this.#simulation
    const lastsMs = 10 + random.integer('length of trouble', 150)
    await clock.sleep(20 + random.integer('time to trouble', 150))
    switch (random.integer('kind of trouble', 6)) {
      case 0:
        network.partition([storeHost], [writers[random.integer('victim', writers.length)] ?? ''])
        await clock.sleep(lastsMs)
        return network.heal()
      case 1:
        network.partition([storeHost], [watcherHost])
        await clock.sleep(lastsMs)
        return network.heal()
      case 2:
        network.cut(storeHost, watcherHost)
        return this.#store.jumpClock(random.integer('clock jump', 20_000) - 10_000)
      case 3:
        this.#store.disk.failNext('sync', 'EIO')
        await clock.sleep(lastsMs)
        await this.#crashStore(lastsMs)
        return void this.#boot()
      default:
        await this.#crashStore(lastsMs)
        return void this.#boot()
    }
  }

  async #crashStore(downMs: number): Promise<void> {
    this.#crashes++
    this.#store.crash()
    await this.#simulation.clock.sleep(downMs)
    this.#store.restart()
  }

  /** May never settle, if the next crash occurs first or the store refuses to open. */
  async #boot(): Promise<Store> {
    try {
      return await bootStore(this.#store)
    } catch (error) {
      // An injected failure of a sync that no commit needed.
      if ((error as { readonly code?: string }).code === 'EIO') return this.#boot()
      this.observations.oddities.push(`the store failed to reopen: ${String(error)}`)
      if (!(error instanceof StoreDamagedError)) throw error
      this.#refused.resolve()
      return new Promise(() => {})
    }
  }

  /** Ends all faults and restarts the store for the last time. */
  async #stopFaults(): Promise<Store> {
    this.#simulation.network.heal()
    this.#simulation.network.setFaults(faultlessNetwork)
    await this.#crashStore(10)
    return this.#boot()
  }

  async #waitForWatcher(watcher: Watcher, store: Store): Promise<void> {
    const { clock } = this.#simulation
    const revision = await store.revision()
    const untilMs = this.#simulation.nowMs + catchUpMsMax
    while (watcher.revision < revision && this.#simulation.nowMs < untilMs) await clock.sleep(50)
  }

  /** Reads the store directly on its host. */
  async #examine(store: Store): Promise<void> {
    const { log, state } = this.observations
    const listing = await store.list({ prefix: '/' })
    state.push(...listing.entries.map(({ key, revision }) => ({ key, revision })))
    const watch = store.watch({ prefix: '/', afterRevision: 0 })
    watch.requestProgress()
    for await (const batch of watch) {
      log.push(...batch.events.map(toNoteEvent))
      if (batch.revision >= listing.revision) return
    }
    assert(false, 'the watch of an open store does not end')
  }
}
