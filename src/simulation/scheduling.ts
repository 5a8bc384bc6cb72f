/**
 * Simulates a scheduler from a seed, with nodes and pods that are created and deleted at random. The
 * scheduler crashes, and its network loses, delays and repeats messages and cuts connections. Checks that no
 * node is ever overcommitted, and that in the settled state no pod is pending that fits on a node.
 */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { Simulation } from '#/platform/simulated.ts'
import { defaultProfiles } from '#/scheduler/default-profile.ts'
import { Scheduler } from '#/scheduler/scheduler.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'
import { faultyTransport, type FaultOptions } from './faulty-transport.ts'
import { OvercommitChecker } from './scheduling/overcommit-checker.ts'
import { isOn, fitsOn } from './scheduling/node-capacity.ts'
import { Users } from './scheduling/users.ts'

export interface SchedulingVerdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** Number of pods bound and unbound at the end. */
  readonly bound: number
  readonly waiting: number
}

const steps = 20
const faultChance = 0.06

/** The scheduler crashes in one of this many steps. */
const crashOneIn = 15

/**
 * Virtual. Shorter than the interval after which unschedulable pods are retried in any case, so that pods
 * must have been moved to the active queue by the event that made them schedulable.
 */
const restMs = 240_000
const tidyMs = 30_000

export async function simulateScheduling(seed: number): Promise<SchedulingVerdict> {
  const simulation = new Simulation({ seed })
  const cluster = new SchedulingCluster(simulation)
  await simulation.run(cluster.start())
  const overcommit = new OvercommitChecker(cluster.store)
  const watching = overcommit.run(cluster.signal)
  await simulation.run(play(simulation, cluster))
  const unplaced = await simulation.run(cluster.check())
  await cluster.stop()
  await watching
  return {
    traceHash: simulation.traceHash(),
    trace: simulation.trace,
    violations: [...overcommit.violations, ...unplaced.violations],
    bound: unplaced.bound,
    waiting: unplaced.waiting,
  }
}

async function play(simulation: Simulation, cluster: SchedulingCluster): Promise<void> {
  const { clock, random } = simulation
  const users = new Users(cluster.client, random)
  await users.createNodes(2)
  for (let step = 0; step < steps; step++) {
    simulation.record(await users.act())
    if (random.integer('crash', crashOneIn) === 0) await cluster.restart()
    if (random.integer('pause', 2) === 0) await clock.sleep(random.integer('time between', 8_000))
    if (random.integer('tidy', 4) === 0) await users.tidy()
  }
  await users.openAll()
  cluster.stopFaults()
  // Complete deletions, which may make room for other pods.
  for (let restedMs = 0; restedMs < restMs; restedMs += tidyMs) {
    await users.tidy()
    await clock.sleep(tidyMs)
  }
}

class SchedulingCluster {
  readonly #simulation: Simulation
  readonly #stopping = new AbortController()
  #faults: FaultOptions | undefined
  #store: Store | undefined
  #server: ApiServer | undefined
  #running: Promise<void> | undefined
  #isFaultless = false

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  get store(): Store {
    return this.#store!
  }

  /** Acts as an administrator, without faults. */
  get client(): Client {
    return this.#clientAs('users', 'admin', ['system:masters'])
  }

  async start(): Promise<void> {
    const platform = this.#simulation.host('api')
    this.#store = await MemoryStore.open({ platform })
    this.#server = await ApiServer.start({ platform, store: this.#store, build: { version: '0.0.0' } })
    this.#startScheduler()
  }

  /** Crashes the scheduler and restarts it after a while. */
  async restart(): Promise<void> {
    const host = this.#simulation.host('scheduler')
    this.#simulation.record('the scheduler crashes')
    host.crash()
    await this.#simulation.clock.sleep(2_000)
    host.restart()
    this.#startScheduler()
  }

  /** Stops all faults. */
  stopFaults(): void {
    this.#isFaultless = true
    if (this.#faults !== undefined) this.#faults.chance = 0
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#simulation.run(Promise.all([this.#running, this.#server?.stop()]))
    await this.#simulation.advance(1_000)
  }

  /** Finds pending pods that fit on a node, possibly after preempting pods with lower priority. */
  async check(): Promise<{ violations: readonly string[]; bound: number; waiting: number }> {
    const { items: all } = await this.client.list(pods)
    const { items: there } = await this.client.list(nodes)
    const waiting = all.filter(({ spec }) => !spec?.nodeName)
    const violations = waiting.flatMap(pod => {
      const node = there.find(each => fitsOn(pod, each, notPreemptible(all, pod, each)))
      return node === undefined
        ? []
        : [`pod ${pod.metadata.name} is pending but fits on ${node.metadata.name}`]
    })
    return { violations, bound: all.length - waiting.length, waiting: waiting.length }
  }

  #startScheduler(): void {
    const platform = this.#simulation.host('scheduler')
    const client = this.#clientAs('scheduler', 'system:kube-scheduler', [])
    const scheduler = new Scheduler({ platform, client, profiles: defaultProfiles })
    this.#running = scheduler.run(AbortSignal.any([platform.signal, this.signal]))
  }

  #clientAs(hostName: string, username: string, groups: readonly string[]): Client {
    const host = this.#simulation.host(hostName)
    const { signal } = host
    const handle: ApiServer['handle'] = async request => {
      const response = await this.#server!.handle(request)
      // A crashed scheduler receives no response.
      return signal.aborted ? new Promise(() => undefined) : response
    }
    const faults: FaultOptions = {
      clock: host.clock,
      random: host.random,
      requestFaults: ['refuse', 'busy', 'unavailable', 'lose-answer', 'stall', 'delay'],
      streamFaults: ['end', 'break', 'stall', 'repeat', 'old', 'delay', 'gone'],
      chance: this.#isFaultless ? 0 : faultChance,
    }
    if (hostName === 'scheduler') this.#faults = faults
    const transport = inProcessTransport({
      handle: hostName === 'scheduler' ? faultyTransport(handle, faults) : handle,
      user: { username, groups: [...groups, 'system:authenticated'] },
    })
    return clientOf({ platform: host, transport, userAgent: username })
  }
}

/** Pods on the node that the pod cannot preempt. */
function notPreemptible(all: readonly Pod[], pod: Pod, node: Node): readonly Pod[] {
  const priority = pod.spec?.priority ?? 0
  return all.filter(each => isOn(each, node) && (each.spec?.priority ?? 0) >= priority)
}
