/**
 * Simulates the etcd stores of two API servers on one etcd cluster from a seed. Clients write, read, list, watch and
 * compact, while members crash, hang, lag and lose their leader, hosts crash or lose their connections, and the
 * space runs out. The replicated log of the cluster shows what happened, and each answer is compared with it.
 */
import type { GrpcConnect } from '#/platform/grpc.ts'
import { Simulation } from '#/platform/simulated.ts'
import { EtcdStore } from '#/store/etcd.ts'
import type { Store } from '#/store/store.ts'
import { EtcdFaultSchedule } from './etcd-store/etcd-fault-schedule.ts'
import { AnswerChecker } from './etcd-store/answer-checker.ts'
import { StoreClients } from './etcd-store/store-clients.ts'
import { StoreWatchers } from './etcd-store/store-watchers.ts'
import { etcdRequestFaults, etcdWatchFaults } from './etcd/etcd-faults.ts'
import { SimulatedEtcd } from './etcd/simulated-etcd.ts'

export interface EtcdStoreVerdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** Number of acknowledged writes. */
  readonly acknowledged: number
}

export interface EtcdStoreOptions {
  readonly plantedBug?: PlantedEtcdBug
}

/** A bug, for proving that it is found. */
export interface PlantedEtcdBug {
  readonly connect?: (connect: GrpcConnect) => GrpcConnect
  readonly store?: (store: Store) => Store
}

const hosts = ['api-1', 'api-2']

const durationMs = 60_000

/** Within this time after the last fault every store must answer, and every watch must be complete. */
const settleMs = 90_000

/** Probability of a fault per request or watch response, in half of the runs. */
const faultChance = 0.05

export async function simulateEtcdStore(
  seed: number,
  options: EtcdStoreOptions = {},
): Promise<EtcdStoreVerdict> {
  const simulation = new Simulation({ seed })
  const run = new EtcdStoreRun(simulation, options)
  await run.run()
  const { checker } = run
  const { violations, acknowledgedCount: acknowledged } = checker
  return { traceHash: simulation.traceHash(), violations, trace: simulation.trace, acknowledged }
}

class EtcdStoreRun {
  readonly checker: AnswerChecker
  readonly #simulation: Simulation
  readonly #options: EtcdStoreOptions
  readonly #etcd: SimulatedEtcd
  /** Small in half of the runs, so that watches fall behind and catch up on their own. */
  readonly #recentBytesMax: number
  readonly #watchers = new Map<string, StoreWatchers>()

  constructor(simulation: Simulation, options: EtcdStoreOptions) {
    const { random } = simulation
    const etcd = new SimulatedEtcd({ simulation, fragmentBytes: 1 })
    this.#simulation = simulation
    this.#options = options
    this.#etcd = etcd
    this.#recentBytesMax = random.integer('recent bytes', 2) === 0 ? 3_000 : 1_000_000
    this.checker = new AnswerChecker(etcd, text => simulation.record(text))
    const chance = random.integer('random faults', 2) === 0 ? faultChance : 0
    etcd.setFaults({ requestFaults: etcdRequestFaults, watchFaults: etcdWatchFaults, chance })
  }

  async run(): Promise<void> {
    const simulation = this.#simulation
    for (const name of hosts) this.#start(name)
    const schedule = new EtcdFaultSchedule({
      simulation,
      etcd: this.#etcd,
      hosts,
      restarted: name => this.#start(name),
    })
    await simulation.run(schedule.run(durationMs))
    this.#etcd.setFaults({ chance: 0 })
    await simulation.run(this.#settle())
    await simulation.advance(1_000)
    this.checker.checkHistory()
  }

  /** Opens the store of a host and starts its clients, until the host crashes. */
  #start(name: string): void {
    const { random } = this.#simulation
    const host = this.#simulation.host(name)
    const { clock, signal } = host
    const store = this.#open(name)
    const untilMs = durationMs - this.#simulation.nowMs
    const { checker } = this
    void new StoreClients({ store, clock, random, signal, checker, name }).run(untilMs)
    const watchers = new StoreWatchers({ store, clock, random, signal, checker, name })
    this.#watchers.set(name, watchers)
    watchers.start()
  }

  #open(name: string): Store {
    const { connect: plantConnect, store: plantStore } = this.#options.plantedBug ?? {}
    const host = this.#simulation.host(name)
    const { clock, random, network, files, processes, log } = host
    const connect = this.#etcd.connect(host)
    const { endpoints } = this.#etcd
    const store = EtcdStore.open({
      platform: { clock, random, network, files, processes, log },
      connect: plantConnect?.(connect) ?? connect,
      // Each API server begins with another member.
      endpoints: name === 'api-1' ? endpoints : endpoints.toReversed(),
      recentBytesMax: this.#recentBytesMax,
    })
    return plantStore?.(store) ?? store
  }

  /** Faults have ended: stores answer, and watches deliver everything. */
  async #settle(): Promise<void> {
    const { clock } = this.#simulation
    const endMs = this.#simulation.nowMs + settleMs
    const { checker } = this
    for (;;) {
      await clock.sleep(1_000)
      const unsettled = [...this.#watchers.values()].flatMap(watchers => watchers.behind())
      if (unsettled.length === 0) return
      if (this.#simulation.nowMs < endMs) continue
      for (const text of unsettled) checker.report(text)
      return
    }
  }
}
