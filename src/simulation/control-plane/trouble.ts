import type { Random } from '#/platform/platform.ts'
import type { Simulation } from '#/platform/simulated.ts'
import { managers, nodeNames, type Parts } from './parts.ts'

const victims = ['api', ...managers, 'scheduler', ...nodeNames]

/** Maximum duration of a fault; some nodes stay away long enough for their pods to be evicted. */
const lengthMs = { usual: 120_000, ofServer: 6_000, ofNodes: 400_000 }

/** Injects faults and ends them after a while. */
export class Trouble {
  readonly #simulation: Simulation
  readonly #parts: Parts
  /** Hosts that are down or disconnected. */
  readonly #hit = new Set<string>()

  constructor(simulation: Simulation, parts: Parts) {
    this.#simulation = simulation
    this.#parts = parts
  }

  /** True if no fault is active. */
  get isOver(): boolean {
    return this.#hit.size === 0
  }

  /** Injects a random fault and returns its description. */
  make(): string {
    const { random } = this.#simulation
    const host = victims[random.integer('victim', victims.length)] ?? 'api'
    switch (random.integer('kind of trouble', 6)) {
      case 0: {
        const byMs = random.integer('jump', 600_000) - 300_000
        this.#parts.jumpClock(host, byMs)
        return `the clock of ${host} jumps by ${byMs} ms`
      }
      case 1:
      case 2:
        return this.#cutOff(host === 'api' ? 'manager-1' : host, random)
      default:
        return this.#crash(host, random)
    }
  }

  #crash(host: string, random: Random): string {
    return this.#hurt(host, {
      what: 'crashes',
      lastsMs: lastsMs(host, random),
      begin: () => this.#parts.crash(host),
      end: () => this.#parts.restart(host),
    })
  }

  #cutOff(host: string, random: Random): string {
    const cut = random.integer('silent cut', 2) === 0 ? 'silent' : 'refused'
    return this.#hurt(host, {
      what: `is cut off, ${cut},`,
      lastsMs: lastsMs(host, random),
      begin: () => this.#parts.cutOff(host, cut),
      end: () => this.#parts.mend(host),
    })
  }

  #hurt(host: string, { what, lastsMs, begin, end }: Injury): string {
    if (this.#hit.has(host)) return `${host} is in trouble already`
    this.#hit.add(host)
    begin()
    const heal = async (): Promise<void> => {
      await this.#simulation.clock.sleep(lastsMs)
      await end()
      this.#hit.delete(host)
    }
    void heal()
    return `${host} ${what} for ${lastsMs} ms`
  }
}

interface Injury {
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
