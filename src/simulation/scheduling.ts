/**
 * A scheduler from a seed, with nodes that come, go and fill up, and pods of all sorts that come and go. It crashes,
 * and is behind a network that loses, delays, repeats and breaks apart. No node may ever bear more than it has; and
 * when everything has come to rest, no pod may wait that could be somewhere. Seed in, verdict out.
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
import { misbehave, type Misbehaviour } from './misbehave.ts'
import { Crowding } from './scheduling/crowding.ts'
import { isOn, mayGoTo } from './scheduling/room.ts'
import { Users } from './scheduling/users.ts'

export interface SchedulingVerdict {
  /** The same for the same seed, everywhere. */
  readonly traceHash: string
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** Pods that were bound in the end, and those that found no place. */
  readonly bound: number
  readonly waiting: number
}

const steps = 20
const faultChance = 0.06

/** One step in so many the scheduler crashes. */
const crashOneIn = 15

/**
 * Virtual. Less than the time after which a pod is tried again though nothing happened: whoever is to be placed must
 * have been woken by what helped it.
 */
const restMs = 240_000
const tidyMs = 30_000

export async function simulateScheduling(seed: number): Promise<SchedulingVerdict> {
  const simulation = new Simulation({ seed })
  const cluster = new SchedulingCluster(simulation)
  await simulation.run(cluster.start())
  const crowding = new Crowding(cluster.store)
  const watching = crowding.run(cluster.signal)
  await simulation.run(play(simulation, cluster))
  const unplaced = await simulation.run(cluster.check())
  await cluster.stop()
  await watching
  return {
    traceHash: simulation.traceHash(),
    trace: simulation.trace,
    violations: [...crowding.violations, ...unplaced.violations],
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
  cluster.calmDown()
  // Who has to go goes, and others may come then.
  for (let restedMs = 0; restedMs < restMs; restedMs += tidyMs) {
    await users.tidy()
    await clock.sleep(tidyMs)
  }
}

class SchedulingCluster {
  readonly #simulation: Simulation
  readonly #stopping = new AbortController()
  #behaviour: Misbehaviour | undefined
  #store: Store | undefined
  #server: ApiServer | undefined
  #running: Promise<void> | undefined
  #isCalm = false

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  get store(): Store {
    return this.#store!
  }

  /** Of somebody to whom nothing bad happens. */
  get client(): Client {
    return this.#clientAs('users', 'admin', ['system:masters'])
  }

  async start(): Promise<void> {
    const platform = this.#simulation.host('api')
    this.#store = await MemoryStore.open({ platform })
    this.#server = await ApiServer.start({ platform, store: this.#store, build: { version: '0.0.0' } })
    this.#startScheduler()
  }

  /** The scheduler crashes, and starts anew after a while. */
  async restart(): Promise<void> {
    const host = this.#simulation.host('scheduler')
    this.#simulation.record('the scheduler crashes')
    host.crash()
    await this.#simulation.clock.sleep(2_000)
    host.restart()
    this.#startScheduler()
  }

  /** From now on nothing fails. */
  calmDown(): void {
    this.#isCalm = true
    if (this.#behaviour !== undefined) this.#behaviour.chance = 0
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#simulation.run(Promise.all([this.#running, this.#server?.stop()]))
    await this.#simulation.advance(1_000)
  }

  /** Pods that wait although there is room, or could be made by sending less important ones away. */
  async check(): Promise<{ violations: readonly string[]; bound: number; waiting: number }> {
    const { items: all } = await this.client.list(pods)
    const { items: there } = await this.client.list(nodes)
    const waiting = all.filter(({ spec }) => !spec?.nodeName)
    const violations = waiting.flatMap(pod => {
      const node = there.find(each => mayGoTo(pod, each, moreImportant(all, pod, each)))
      return node === undefined ? [] : [`${pod.metadata?.name} waits, but may go to ${node.metadata?.name}`]
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
      // Who has crashed hears nothing any more.
      return signal.aborted ? new Promise(() => undefined) : response
    }
    const behaviour: Misbehaviour = {
      clock: host.clock,
      random: host.random,
      requestFaults: ['refuse', 'busy', 'unavailable', 'lose-answer', 'stall', 'delay'],
      streamFaults: ['end', 'break', 'stall', 'repeat', 'old', 'delay', 'gone'],
      chance: this.#isCalm ? 0 : faultChance,
    }
    if (hostName === 'scheduler') this.#behaviour = behaviour
    const transport = inProcessTransport({
      handle: hostName === 'scheduler' ? misbehave(handle, behaviour) : handle,
      user: { username, groups: [...groups, 'system:authenticated'] },
    })
    return clientOf({ platform: host, transport, userAgent: username })
  }
}

/** Those on the node that would not have to go for the pod. */
function moreImportant(all: readonly Pod[], pod: Pod, node: Node): readonly Pod[] {
  const priority = pod.spec?.priority ?? 0
  return all.filter(each => isOn(each, node) && (each.spec?.priority ?? 0) >= priority)
}
