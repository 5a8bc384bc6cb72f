/**
 * Several machines that exist only in memory: one virtual clock, one network, a disk for each host, and every
 * fault drawn from one seed. The same seed gives the same trace in every process, so that a failure seen once
 * can be seen again.
 *
 * Time passes only while `run`, `advance` or `settle` is at work. They fire the next timer, let everything
 * that follows from it happen, and go on; between two timers no time passes at all. Code under simulation
 * must therefore wait for nothing but the platform: no real timer, no thread, no real file.
 */
import { assert } from '#/base/assert.ts'
import type { Clock, Random } from './platform.ts'
import { turn } from './node/turn.ts'
import { SimulatedClock } from './simulated/clock.ts'
import type { DiskFaults } from './simulated/disk.ts'
import { SimulatedHost } from './simulated/host.ts'
import { LabelledRandom } from './simulated/labelled-random.ts'
import { Life } from './simulated/life.ts'
import { SimulatedNetwork, type NetworkControl, type NetworkFaults } from './simulated/network.ts'
import type { Program } from './simulated/processes.ts'
import { Trace } from './simulated/trace.ts'
import { VirtualTime } from './simulated/virtual-time.ts'
import type { World } from './simulated/world.ts'

export type { DiskFaults } from './simulated/disk.ts'
export type { NetworkFaults } from './simulated/network.ts'
export type { Program } from './simulated/processes.ts'
export type { SimulatedHost } from './simulated/host.ts'
export { SimulatedLinux } from './simulated/linux.ts'

export interface SimulationOptions {
  readonly seed: number | bigint
  readonly network?: Partial<NetworkFaults>
  /** For every host; a host's own are changed with `host.disk.setFaults`. */
  readonly disk?: Partial<DiskFaults>
}

/** Timers that one call may fire before it gives up: what has not come to an end by then never will. */
const timersFiredMax = 10_000_000

/** How much virtual time `settle` gives what repeats for ever. */
const settleMsMax = 60 * 60 * 1_000

export class Simulation {
  readonly network: NetworkControl
  /** For the script that drives the simulation: it belongs to no host and survives every crash. */
  readonly clock: Clock
  /** The draws of the script. */
  readonly random: Random
  readonly #network: SimulatedNetwork
  readonly #world: World
  readonly #diskFaults: Partial<DiskFaults>
  readonly #hosts = new Map<string, SimulatedHost>()
  readonly #programs = new Map<string, Program>()
  #failures: unknown[] = []
  #running = false

  constructor(options: SimulationOptions) {
    const seed = BigInt(options.seed)
    const time = new VirtualTime()
    const random = new LabelledRandom(seed, 'simulation')
    const fail = (error: unknown): void => void this.#failures.push(error)
    this.#world = { seed, time, random, trace: new Trace(time), fail }
    this.#diskFaults = options.disk ?? {}
    this.#network = new SimulatedNetwork(this.#world, options.network ?? {})
    this.network = this.#network
    this.clock = new SimulatedClock(this.#world, new Life('script', time), () => 0)
    this.random = new LabelledRandom(seed, 'script')
  }

  /** Virtual milliseconds since the simulation began. */
  get nowMs(): number {
    return this.#world.time.nowMs
  }

  /** The last lines of what happened, oldest first. */
  get trace(): readonly string[] {
    return this.#world.trace.lines()
  }

  /** Stands for everything that happened, also for what `trace` no longer holds. */
  traceHash(): string {
    return this.#world.trace.hash()
  }

  /** Adds a line to the trace. */
  record(text: string): void {
    this.#world.trace.record('script', text)
  }

  /** The host with this name: made on the first call, up and empty. */
  host(name: string): SimulatedHost {
    const known = this.#hosts.get(name)
    if (known !== undefined) return known
    assert(/^[a-z0-9][a-z0-9.-]*$/.test(name), `not a host name: ${name}`)
    const number = this.#hosts.size + 1
    const host = new SimulatedHost({
      world: this.#world,
      name,
      address: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
      network: this.#network,
      diskFaults: this.#diskFaults,
      programs: this.#programs,
    })
    this.#hosts.set(name, host)
    return host
  }

  /** What `processes.start` runs for a command of this name, on every host. */
  program(name: string, program: Program): void {
    this.#programs.set(name, program)
  }

  /** Runs up to this virtual time, or until the promise settles, and then gives what it gave. */
  run(untilMs: number): Promise<void>
  run<T>(promise: Promise<T>): Promise<T>
  async run<T>(until: number | Promise<T>): Promise<T | void> {
    if (typeof until === 'number') return this.#runUntil(until)
    let settled = false
    const mark = (): void => {
      settled = true
    }
    until.then(mark, mark)
    await this.#fireWhile(() => {
      const isStuck = !settled && this.#world.time.nextMs === undefined
      assert(!isStuck, 'the promise waits for something that never happens: no timer is pending')
      return !settled
    })
    return until
  }

  advance(byMs: number): Promise<void> {
    return this.#runUntil(this.nowMs + byMs)
  }

  /** Runs until no timer is pending. Says whether that happened within the time given. */
  async settle(withinMs: number = settleMsMax): Promise<boolean> {
    const untilMs = this.nowMs + withinMs
    await this.#fireWhile(nextMs => nextMs <= untilMs)
    return this.#world.time.nextMs === undefined
  }

  async #runUntil(untilMs: number): Promise<void> {
    await this.#fireWhile(nextMs => nextMs <= untilMs)
    this.#world.time.advanceTo(untilMs)
  }

  /**
   * Fires timers, each with all that follows from it, as long as there are some and the next one is wanted.
   */
  async #fireWhile(wanted: (nextMs: number) => boolean): Promise<void> {
    assert(!this.#running, 'the simulation is running already')
    this.#running = true
    const { time } = this.#world
    try {
      for (let fired = 0; ; fired++) {
        await turn()
        time.endTurn()
        this.#throwFailures()
        if (!wanted(time.nextMs ?? Infinity) || time.nextMs === undefined) return
        assert(fired < timersFiredMax, `${timersFiredMax} timers have fired and there is no end`)
        time.fireNext()
      }
    } finally {
      this.#running = false
    }
  }

  #throwFailures(): void {
    const [first, ...others] = this.#failures
    if (first === undefined) return
    this.#failures = []
    throw others.length === 0 ? first : new AggregateError([first, ...others], 'several errors at once')
  }
}
