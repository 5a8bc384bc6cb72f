/**
 * Simulates API servers and their clients from a seed, and checks the history that the clients record: linearizability
 * of each object, revisions, lists, the guarantees of watches, and informers at rest. The servers and the store are
 * those of production. Servers crash and restart, disks fail, connections are cut, clocks jump, watch caches are
 * behind, and history is compacted under lists and watches. `npm run robustness` does the same with real processes.
 */
import { clientOf } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import {
  compaction,
  disconnections,
  injectFaults,
  serverFaults,
  type FaultScheduleOptions,
} from './api-history/faults.ts'
import { HistoryLog } from './api-history/history-log.ts'
import { SimulatedServer, type PlantedBug } from './api-history/simulated-server.ts'
import { storeKinds, type StoreKind, type Stores } from './api-history/stores.ts'
import { faultyTransport, type FaultOptions } from './faulty-transport.ts'
import { checkHistory } from './history/check-history.ts'
import type { HistoryRecord } from './history/history.ts'
import { platformOf } from './host-platform.ts'
import { ConfigMapClient } from './recording/config-map-client.ts'
import { NotRecovered, RecordedClients, type NamedClient } from './recording/recorded-clients.ts'
import type { Handle } from './simulated-connections.ts'

export interface ApiHistoryOptions {
  /** Each kind in turn when absent. */
  readonly store?: StoreKind
  readonly plantedBug?: PlantedBug
}

export interface ApiHistoryVerdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  readonly history: readonly HistoryRecord[]
  /** Number of pages of lists that were refused with 410. */
  readonly expiredPages: number
}

/** Virtual time in which the clients work and faults are injected. */
const loadMs = 45_000
const workerCount = 5
const keyCount = 6
const pauseMs = 400

/** A silently dead watch of an informer is detected after two and a half minutes. */
const restMsMax = 400_000

/** Far longer than load and rest together. */
const runMsMax = 3_600_000

/** Probability of a fault per request or watch batch. */
const faultChance = 0.02

/** Maximum delay of a message. */
const latencyMsMax = 25

/** Maximum time that a client takes for a page of a list, so that its continue token expires sometimes. */
const pagePauseMsMax = 1_500

export async function simulateApiHistory(
  seed: number,
  options: ApiHistoryOptions = {},
): Promise<ApiHistoryVerdict> {
  const simulation = new Simulation({ seed })
  const { store = seed % 2 === 0 ? 'embedded' : 'etcd', plantedBug = {} } = options
  const run = new ApiHistoryRun(simulation, { seed, store, plantedBug })
  const late = simulation.clock.sleep(runMsMax).then(() => [`the run has not ended within ${runMsMax} ms`])
  const violations = await simulation.run(Promise.race([run.run(), late]))
  const { records: history } = run.log
  return {
    traceHash: simulation.traceHash(),
    violations: [...violations, ...check(history)],
    trace: simulation.trace,
    history,
    expiredPages: run.expiredPages,
  }
}

function check(history: readonly HistoryRecord[]): readonly string[] {
  const { violations, undecided } = checkHistory(history)
  return [...violations, ...undecided.map(key => `the search for a linearization of ${key} is not complete`)]
}

interface RunOptions extends Required<ApiHistoryOptions> {
  readonly seed: number
}

type Schedule = Pick<FaultScheduleOptions, 'faults' | 'quietMsMax' | 'lengthMsMax'>

interface Connected {
  readonly host: SimulatedHost
  readonly server: SimulatedServer
}

class ApiHistoryRun {
  readonly log: HistoryLog
  expiredPages = 0
  readonly #simulation: Simulation
  readonly #stores: Stores
  readonly #seed: string
  readonly #servers: readonly SimulatedServer[]
  readonly #connected: Connected[] = []
  readonly #faults: FaultOptions[] = []
  readonly #violations: string[] = []

  constructor(simulation: Simulation, { store, plantedBug, seed }: RunOptions) {
    const stores = storeKinds[store](simulation)
    this.log = new HistoryLog(simulation)
    this.#simulation = simulation
    this.#stores = stores
    this.#seed = String(seed)
    const openStore = stores.open
    const onViolation = (violation: string): void => void this.#violations.push(violation)
    this.#servers = stores.serverNames.map(name => {
      return new SimulatedServer({ name, simulation, openStore, plantedBug, onViolation })
    })
  }

  /** Resolves with violations that are not in the history. */
  async run(): Promise<readonly string[]> {
    await Promise.all(this.#servers.map(server => server.start()))
    const { client: administrator } = this.#client('administrator', 0)
    await administrator.createNamespace()
    const clients = {
      workers: Array.from({ length: workerCount }, (_, number) => this.#client(`worker-${number}`, number)),
      watchers: Array.from({ length: 3 }, (_, number) => this.#client(`watcher-${number}`, number)),
      informers: Array.from({ length: 2 }, (_, number) => this.#client(`informer-${number}`, number)),
    }
    const { clock } = this.#simulation
    const recorded = new RecordedClients({
      clients,
      recorder: this.log,
      clock,
      seed: this.#seed,
      keyCount,
      pauseMs,
      restMsMax,
    })
    const observing = new AbortController()
    try {
      await recorded.observe(observing.signal)
      await this.#load(recorded)
      await recorded.comeToRest()
    } catch (error) {
      if (!(error instanceof NotRecovered)) throw error
      this.#violations.push(error.message)
    } finally {
      observing.abort()
    }
    await recorded.ended()
    for (const server of this.#servers) await server.stop()
    return this.#violations
  }

  async #load(recorded: RecordedClients): Promise<void> {
    const { clock, random } = this.#simulation
    for (const faults of this.#faults) faults.chance = faultChance
    const over = new AbortController()
    const shared = { simulation: this.#simulation, recorder: this.log }
    const servers = this.#servers
    const stores = this.#stores
    const schedules: readonly Schedule[] = [
      {
        faults: servers.flatMap(server => [
          ...serverFaults(server, random),
          ...stores.fatalFaultsOf(server, random),
        ]),
        quietMsMax: 8_000,
        lengthMsMax: 4_000,
      },
      { faults: stores.faultsOf(servers, random), quietMsMax: 8_000, lengthMsMax: 5_000 },
      { faults: disconnections(this.#connected, random), quietMsMax: 6_000, lengthMsMax: 8_000 },
      { faults: [compaction(servers, random)], quietMsMax: 3_000, lengthMsMax: 1 },
    ]
    const working = [
      recorded.work(over.signal),
      ...schedules.map(schedule => injectFaults({ ...shared, ...schedule }, over.signal)),
    ]
    await clock.sleep(loadMs)
    over.abort()
    for (const faults of this.#faults) faults.chance = 0
    await Promise.all(working)
  }

  #client(name: string, number: number): NamedClient & { readonly client: ConfigMapClient } {
    const server = this.#servers[number % this.#servers.length]!
    const host = this.#simulation.host(name)
    this.#connected.push({ host, server })
    const platform = platformOf(host)
    const user = { username: name, groups: ['system:masters', 'system:authenticated'] }
    const transport = inProcessTransport({ handle: this.#unreliable(host, server), user })
    const client = clientOf({ platform, transport, userAgent: name })
    return { name, client: new ConfigMapClient({ name, client, platform }) }
  }

  /** The connection of a client, with delays and faults. A fault never changes or repeats events. */
  #unreliable(host: SimulatedHost, server: SimulatedServer): Handle {
    const { clock, random } = host
    const connection = server.connect(host)
    const latency = (): Promise<void> => clock.sleep(random.fraction('latency') * latencyMsMax)
    const delayed: Handle = async request => {
      await latency()
      if (request.query.has('continue')) await clock.sleep(random.fraction('page') * pagePauseMsMax)
      const response = await connection(request)
      await latency()
      if (response.status === 410 && request.query.has('continue')) this.expiredPages++
      return response
    }
    const faults: FaultOptions = {
      clock,
      random,
      requestFaults: ['refuse', 'busy', 'unavailable', 'lose-answer', 'stall', 'delay'],
      streamFaults: ['end', 'break', 'stall', 'delay'],
      chance: 0,
    }
    this.#faults.push(faults)
    return faultyTransport(delayed, faults)
  }
}
