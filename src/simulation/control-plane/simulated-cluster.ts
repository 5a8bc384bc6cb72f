import type { KubernetesObject } from '#/api/metadata.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import type { Informer } from '#/client/informer.ts'
import { LeaderElector, newIdentity } from '#/client/leader-election.ts'
import type { Controller } from '#/controllers/controller.ts'
import { ControllerManager } from '#/controllers/controller-manager.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { SimulatedHost, Simulation } from '#/platform/simulated.ts'
import { defaultProfiles } from '#/scheduler/default-profile.ts'
import { Scheduler } from '#/scheduler/scheduler.ts'
import type { Store, WatchBatch } from '#/store/store.ts'
import { faultyTransport, type FaultOptions, type RequestFault } from '../faulty-transport.ts'
import { ApiServers } from './api-servers.ts'
import { checkShrinking } from './deployment-bounds.ts'
import { nodeNames, SimulatedNodes } from './nodes.ts'
import { UncertainWrites } from './uncertain-writes.ts'
import { checkSequence } from './stateful-set-order.ts'
import {
  lifeOf,
  SimulatedConnections,
  type DisconnectMode,
  type Handle,
  type Life,
} from '../simulated-connections.ts'

export const managers = ['manager-1', 'manager-2']

/** Probability of a fault per request or watch batch. */
const faultChance = 0.02

const requestFaults: readonly RequestFault[] = ['refuse', 'busy', 'unavailable', 'delay']
/** Faults after which the outcome of a request is unknown. */
const uncertainFaults: readonly RequestFault[] = ['lose-answer', 'stall']

/** Longer than the defaults, to reduce the number of lease writes. */
const timings = { leaseDurationMs: 35_000, renewDeadlineMs: 25_000, retryPeriodMs: 5_000 }

/** Checks of controller requests against the controller's own informers, by account. */
const decisions: Readonly<Record<string, typeof checkSequence>> = {
  'statefulset-controller': checkSequence,
  'deployment-controller': checkShrinking,
}

export interface SimulatedClusterOptions {
  readonly simulation: Simulation
  readonly controllers: readonly Controller[]
  readonly seenRuntime?: (runtime: ContainerRuntime) => ContainerRuntime
  /** Called with violations found in a controller's requests. */
  readonly onViolation: (violation: string) => void
}

/** One in this many runs has two API servers on etcd, and the others one on its embedded store. */
const etcdOneIn = 3

/** The programs of a cluster, each on its own host, which may crash and restart. */
export class SimulatedCluster {
  readonly uncertainWrites: UncertainWrites
  readonly servers: ApiServers
  readonly #options: SimulatedClusterOptions
  readonly #connections: SimulatedConnections
  readonly #stopping = new AbortController()
  readonly #faults = new Set<FaultOptions>()
  /**
   * In half of the runs writes may fail, but never with an unknown outcome; checkers are fully strict there.
   */
  readonly #isEveryWriteCertain: boolean
  readonly #leading = new Map<string, ControllerManager>()
  readonly nodes: SimulatedNodes
  #scheduler: Scheduler | undefined
  #isFaultless = false

  constructor(options: SimulatedClusterOptions) {
    const { simulation, onViolation } = options
    this.#options = options
    const nowMs = (): number => simulation.nowMs
    const isOnEtcd = simulation.random.integer('store', etcdOneIn) === 0
    this.servers = new ApiServers(simulation, isOnEtcd ? 'etcd' : 'embedded')
    const serverFor = (hostName: string): Handle | undefined => this.servers.handleFor(hostName)
    this.#connections = new SimulatedConnections({ serverFor, nowMs, onViolation })
    this.uncertainWrites = new UncertainWrites({ nowMs, isStoreUncertain: this.servers.etcd !== undefined })
    this.nodes = new SimulatedNodes({
      ...options,
      signal: this.signal,
      clientFor: life => this.#clientOf(life, `system:node:${life.hostName}`, ['system:nodes']),
    })
    this.#isEveryWriteCertain = simulation.random.integer('every write is certain', 2) === 0
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  store(): Promise<Store> {
    return this.servers.store()
  }

  writes(signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    return this.servers.writes(signal)
  }

  /** Acts as an administrator, without faults. */
  get userClient(): Client {
    const life = this.#lifeOf('user')
    return client(life, { username: 'admin', groups: ['system:masters'] }, this.#connections.from(life))
  }

  /** Informers by program. */
  informers(): ReadonlyMap<string, readonly Informer<KubernetesObject>[]> {
    const nodes = this.nodes.all().map(node => [node.name, node] as const)
    const followers = [...this.#leading, ...nodes, ['scheduler', this.#scheduler] as const]
    return new Map(followers.map(([name, part]) => [name, part?.informers?.all() ?? []]))
  }

  /** Programs with pending work, and violations of leader election. */
  busy(): readonly string[] {
    const managing = [...this.#leading.values()].flatMap(manager => [...manager.busy().keys()])
    return [
      ...[...managing, ...(this.#scheduler?.isIdle ? [] : ['scheduler'])].map(
        name => `${name} has pending work`,
      ),
      ...(this.#leading.size === 1 ? [] : [`${this.#leading.size} leaders instead of one`]),
    ]
  }

  async start(): Promise<void> {
    await this.servers.startAll()
    for (const name of managers) this.#startManager(name)
    this.#startScheduler()
    await Promise.all(this.nodes.all().map(node => node.boot()))
  }

  crash(name: string): void {
    if (nodeNames.includes(name)) this.nodes.get(name).crash()
    else this.#host(name).crash()
    if (this.servers.names.includes(name)) {
      this.servers.crashed(name)
      this.#connections.reset(this.servers.usersOf(name))
      return
    }
    this.#connections.disconnect(name, 'silent')
    if (this.#leading.delete(name)) this.uncertainWrites.markAll()
  }

  async restart(name: string): Promise<void> {
    this.#host(name).restart()
    this.#connections.reconnect(name)
    if (this.servers.names.includes(name)) return this.servers.start(name)
    if (name === 'scheduler') return this.#startScheduler()
    return managers.includes(name) ? this.#startManager(name) : this.nodes.get(name).boot()
  }

  /** Disconnects the host from the API server while it keeps running. */
  disconnect(name: string, mode: DisconnectMode): void {
    this.#connections.disconnect(name, mode)
  }

  reconnect(name: string): void {
    this.#connections.reconnect(name)
  }

  /** Nothing runs on the host until `resume`. */
  stall(name: string): void {
    this.#host(name).stall()
  }

  /** A controller manager that was stalled writes until it notices that it does not lead anymore. */
  resume(name: string): void {
    this.#host(name).resume()
    if (this.#leading.has(name)) this.uncertainWrites.markAll()
  }

  jumpClock(name: string, byMs: number): void {
    this.#host(name).jumpClock(byMs)
  }

  /** Stops all faults. */
  stopFaults(): void {
    this.#isFaultless = true
    for (const faults of this.#faults) faults.chance = 0
    this.servers.stopFaults()
    this.nodes.stopFaults()
  }

  stop(): void {
    this.#stopping.abort()
    this.servers.stop()
  }

  #startManager(name: string): void {
    const life = this.#lifeOf(name)
    const { platform, signal } = life
    const controllerManager = this.#clientOf(life, 'system:kube-controller-manager')
    const election = new LeaderElector({
      platform,
      client: controllerManager,
      lease: { namespace: 'kube-system', name: 'kube-controller-manager' },
      identity: newIdentity(platform, name),
      timings,
      onStartedLeading: async leading => {
        const manager: ControllerManager = new ControllerManager({
          platform,
          controllers: this.#options.controllers,
          client: controllerManager,
          clientFor: account => this.#controllerClient(life, account, () => manager),
        })
        this.#leading.set(name, manager)
        await manager.run(leading)
        this.#leading.delete(name)
      },
    })
    void election.run(AbortSignal.any([signal, this.signal]))
  }

  #controllerClient(life: Life, account: string, manager: () => ControllerManager): Client {
    const user = {
      username: `system:serviceaccount:kube-system:${account}`,
      groups: ['system:serviceaccounts'],
    }
    const handle = this.uncertainWrites.track(account, this.#unreliable(life))
    const check = decisions[account]
    if (check === undefined) return client(life, user, handle)
    return client(life, user, request => {
      for (const violation of check(request, manager().informers)) this.#options.onViolation(violation)
      return handle(request)
    })
  }

  #startScheduler(): void {
    const life = this.#lifeOf('scheduler')
    const { platform, signal } = life
    this.#scheduler = new Scheduler({
      platform,
      client: this.#clientOf(life, 'system:kube-scheduler'),
      profiles: defaultProfiles,
    })
    void this.#scheduler.run(AbortSignal.any([signal, this.signal]))
  }

  #clientOf(life: Life, username: string, groups: readonly string[] = []): Client {
    return client(life, { username, groups }, this.#unreliable(life))
  }

  /** Connection to the API server with random faults. */
  #unreliable(life: Life): Handle {
    const handle = this.#connections.from(life)
    const faultsOf = (faults: readonly RequestFault[]): FaultOptions => ({
      clock: life.platform.clock,
      random: life.platform.random,
      requestFaults: faults,
      streamFaults: ['end', 'break', 'stall', 'repeat', 'old', 'delay', 'gone'],
      chance: this.#isFaultless ? 0 : faultChance,
    })
    const reading = faultsOf([...requestFaults, ...uncertainFaults])
    const writing = faultsOf(this.#isEveryWriteCertain ? requestFaults : reading.requestFaults)
    this.#faults.add(reading).add(writing)
    const [read, write] = [faultyTransport(handle, reading), faultyTransport(handle, writing)]
    return request => (request.method === 'GET' ? read : write)(request)
  }

  #lifeOf(name: string): Life {
    return lifeOf(this.#host(name))
  }

  #host(name: string): SimulatedHost {
    return this.#options.simulation.host(name)
  }
}

interface Identity {
  readonly username: string
  readonly groups: readonly string[]
}

function client({ platform }: Life, { username, groups }: Identity, handle: Handle): Client {
  const user = { username, groups: [...groups, 'system:authenticated'] }
  return clientOf({ platform, transport: inProcessTransport({ handle, user }), userAgent: username })
}
