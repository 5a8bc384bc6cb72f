import type { Random } from '#/platform/platform.ts'
import type { Simulation } from '#/platform/simulated.ts'
import { nodeNames } from './nodes.ts'
import { managers, type SimulatedCluster } from './simulated-cluster.ts'

const victims = ['api', ...managers, 'scheduler', ...nodeNames]

/** Maximum duration of a fault; some nodes stay away long enough for their pods to be evicted. */
const lengthMs = { usual: 120_000, ofServer: 6_000, ofNodes: 400_000 }

/** Injects faults and ends them after a while. */
export class FaultSchedule {
  readonly #simulation: Simulation
  readonly #cluster: SimulatedCluster
  /** Hosts that are down or disconnected. */
  readonly #faulty = new Set<string>()

  constructor(simulation: Simulation, cluster: SimulatedCluster) {
    this.#simulation = simulation
    this.#cluster = cluster
  }

  /** True if no fault is active. */
  get isHealthy(): boolean {
    return this.#faulty.size === 0
  }

  /** Injects a random fault and returns its description. */
  inject(): string {
    const { random } = this.#simulation
    const host = victims[random.integer('victim', victims.length)] ?? 'api'
    switch (random.integer('kind of trouble', 6)) {
      case 0: {
        const byMs = random.integer('jump', 600_000) - 300_000
        this.#cluster.jumpClock(host, byMs)
        return `the clock of ${host} jumps by ${byMs} ms`
      }
      case 1:
      case 2:
        return this.#disconnect(host === 'api' ? 'manager-1' : host, random)
      default:
        return this.#crash(host, random)
    }
  }

  #crash(host: string, random: Random): string {
    return this.#start(host, {
      what: 'crashes',
      lastsMs: lastsMs(host, random),
      begin: () => this.#cluster.crash(host),
      end: () => this.#cluster.restart(host),
    })
  }

  #disconnect(host: string, random: Random): string {
    const mode = random.integer('silent cut', 2) === 0 ? 'silent' : 'refused'
    return this.#start(host, {
      what: `is disconnected, ${mode},`,
      lastsMs: lastsMs(host, random),
      begin: () => this.#cluster.disconnect(host, mode),
      end: () => this.#cluster.reconnect(host),
    })
  }

  #start(host: string, { what, lastsMs, begin, end }: Fault): string {
    if (this.#faulty.has(host)) return `${host} already has a fault`
    this.#faulty.add(host)
    begin()
    const heal = async (): Promise<void> => {
      await this.#simulation.clock.sleep(lastsMs)
      await end()
      this.#faulty.delete(host)
    }
    void heal()
    return `${host} ${what} for ${lastsMs} ms`
  }
}

interface Fault {
  readonly what: string
  readonly lastsMs: number
  readonly begin: () => void
  readonly end: () => void | Promise<void>
}

function lastsMs(host: string, random: Random): number {
  const isLong = nodeNames.includes(host) && random.integer('long trouble', 3) === 0
  const most = host === 'api' ? lengthMs.ofServer : isLong ? lengthMs.ofNodes : lengthMs.usual
  return 100 + random.integer('length of trouble', most)
}
