import type { Random } from '#/platform/platform.ts'
import type { Simulation } from '#/platform/simulated.ts'
import { drawEtcdFault } from '../etcd/draw-etcd-fault.ts'
import type { SimulatedEtcd } from '../etcd/simulated-etcd.ts'
import { nodeNames } from './nodes.ts'
import { drawRuntimeFault, endSomeContainer } from './runtime-faults.ts'
import { managers, type SimulatedCluster } from './simulated-cluster.ts'

const clients = [...managers, 'scheduler', ...nodeNames]

/** Maximum duration of a fault; some nodes stay away long enough for their pods to be evicted. */
const lengthMs = { usual: 120_000, ofServer: 6_000, ofEtcd: 30_000, ofNodes: 400_000 }

/** Stalls, most as short as a garbage collection, others longer than all leases. */
const stallMs = { short: 3_000, long: 90_000 }

/** Clocks differ at the beginning, and run at different rates. */
const skewMsMax = 60_000
const rateDifferenceMax = 0.002

/** Injects faults and ends them after a while. */
export class FaultSchedule {
  readonly #simulation: Simulation
  readonly #cluster: SimulatedCluster
  /** Hosts that are down, disconnected or stalled, and runtimes with faults. */
  readonly #faulty = new Set<string>()

  constructor(simulation: Simulation, cluster: SimulatedCluster) {
    this.#simulation = simulation
    this.#cluster = cluster
  }

  /** True if no fault is active. */
  get isHealthy(): boolean {
    return this.#faulty.size === 0
  }

  get #victims(): readonly string[] {
    return [...this.#cluster.servers.names, ...clients]
  }

  /** Sets the clocks of some hosts wrong. */
  skewClocks(): void {
    const { random } = this.#simulation
    for (const name of this.#victims) {
      const host = this.#simulation.host(name)
      if (random.integer('skewed clock', 2) === 0)
        host.jumpClock(random.integer('skew', 2 * skewMsMax) - skewMsMax)
      if (random.integer('drifting clock', 2) === 0)
        host.setClockRate(1 + (random.fraction('clock rate') * 2 - 1) * rateDifferenceMax)
    }
  }

  /** Injects a random fault and returns its description. */
  inject(): string {
    const { random } = this.#simulation
    const { names, etcd } = this.#cluster.servers
    if (etcd && random.integer('trouble of etcd', 3) === 0) return this.#injectIntoEtcd(etcd, random)
    const kind = random.integer('kind of trouble', 10)
    if (kind < 3) return this.#injectIntoRuntime(random)
    const victims = this.#victims
    const host = victims[random.integer('victim', victims.length)]!
    switch (kind) {
      case 3: {
        const byMs = random.integer('jump', 600_000) - 300_000
        this.#cluster.jumpClock(host, byMs)
        return `the clock of ${host} jumps by ${byMs} ms`
      }
      case 4:
      case 5:
        return this.#disconnect(names.includes(host) ? 'manager-1' : host, random)
      case 6:
        return this.#stall(host, random)
      default:
        return this.#crash(host, random)
    }
  }

  #crash(host: string, random: Random): string {
    const usual = { lastsMs: this.#lastsMs(host, random) }
    if (nodeNames.includes(host) && random.integer('only the kubelet crashes', 2) === 0) {
      const node = this.#cluster.nodes.get(host)
      return this.#start(host, {
        ...usual,
        what: 'loses its kubelet',
        begin: () => node.killKubelet(),
        end: () => node.startKubelet(),
      })
    }
    return this.#start(host, {
      ...usual,
      what: 'crashes',
      begin: () => this.#cluster.crash(host),
      end: () => this.#cluster.restart(host),
    })
  }

  #stall(host: string, random: Random): string {
    const most = random.integer('long stall', 3) === 0 ? stallMs.long : stallMs.short
    const usual = { lastsMs: 1 + random.integer('length of a stall', most) }
    if (nodeNames.includes(host) && random.integer('only the kubelet stalls', 2) === 0) {
      const node = this.#cluster.nodes.get(host)
      return this.#start(host, {
        ...usual,
        what: 'stalls its kubelet',
        begin: () => node.stopKubelet(),
        end: () => node.continueKubelet(),
      })
    }
    return this.#start(host, {
      ...usual,
      what: 'stalls',
      begin: () => this.#cluster.stall(host),
      end: () => this.#cluster.resume(host),
    })
  }

  #disconnect(host: string, random: Random): string {
    const mode = random.integer('silent cut', 2) === 0 ? 'silent' : 'refused'
    return this.#start(host, {
      what: `is disconnected, ${mode},`,
      lastsMs: this.#lastsMs(host, random),
      begin: () => this.#cluster.disconnect(host, mode),
      end: () => this.#cluster.reconnect(host),
    })
  }

  #injectIntoEtcd(etcd: SimulatedEtcd, random: Random): string {
    const { subject, ...fault } = drawEtcdFault(etcd, this.#cluster.servers.names, random)
    return this.#start(subject, {
      ...fault,
      lastsMs: 100 + random.integer('length of trouble', lengthMs.ofEtcd),
    })
  }

  #lastsMs(host: string, random: Random): number {
    const isLong = nodeNames.includes(host) && random.integer('long trouble', 3) === 0
    const isServer = this.#cluster.servers.names.includes(host)
    const most = isServer ? lengthMs.ofServer : isLong ? lengthMs.ofNodes : lengthMs.usual
    return 100 + random.integer('length of trouble', most)
  }

  #injectIntoRuntime(random: Random): string {
    const nodes = this.#cluster.nodes.all()
    if (random.integer('a container fails', 2) === 0) {
      const busy = nodes.filter(({ runtime }) => runtime.inspect().some(({ state }) => state === 'ready'))
      const node = busy[random.integer('victim', Math.max(1, busy.length))]
      return node === undefined
        ? 'no pod could fail'
        : `${node.name} ${endSomeContainer(node.runtime, random)}`
    }
    const { name, runtime } = nodes[random.integer('victim', nodes.length)]!
    const fault = drawRuntimeFault(runtime, random)
    const usual = random.integer('length of trouble', lengthMs.usual)
    return this.#start(`runtime of ${name}`, { ...fault, lastsMs: 100 + usual })
  }

  #start(victim: string, { what, lastsMs, begin, end }: Fault): string {
    if (this.#faulty.has(victim)) return `${victim} already has a fault`
    this.#faulty.add(victim)
    begin()
    const heal = async (): Promise<void> => {
      await this.#simulation.clock.sleep(lastsMs)
      await end()
      this.#faulty.delete(victim)
    }
    void heal()
    return `${victim} ${what} for ${lastsMs} ms`
  }
}

interface Fault {
  readonly what: string
  readonly lastsMs: number
  readonly begin: () => void
  readonly end: () => void | Promise<void>
}
