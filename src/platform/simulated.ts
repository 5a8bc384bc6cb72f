/**
 * Several machines in memory: one virtual clock, one network, a disk for each host, and all faults drawn from
 * one seed. The same seed gives the same trace in every process, so that a failure can be reproduced.
 *
 * Time passes only during `run`, `advance` or `settle`. They fire the next timer, wait until everything that
 * follows from it has run, and continue; between two timers no time passes. Code under simulation must
 * therefore wait only for the platform: no real timers, threads or files.
 */
import { assert } from '#/base/assert.ts'
import type { Clock, Random } from './platform.ts'
import { turn } from './node/turn.ts'
import { HostTime, SimulatedClock } from './simulated/clock.ts'
import type { DiskFaults } from './simulated/disk-faults.ts'
import { SimulatedHost } from './simulated/host.ts'
import { LabelledRandom } from './simulated/labelled-random.ts'
import { Life } from './simulated/life.ts'
import { SimulatedNetwork, type NetworkControl, type NetworkFaults } from './simulated/network.ts'
import type { Program } from './simulated/processes.ts'
import { Trace } from './simulated/trace.ts'
import { VirtualTime } from './simulated/virtual-time.ts'
import type { World } from './simulated/world.ts'

export type { DiskFaults } from './simulated/disk-faults.ts'
export type { NetworkFaults } from './simulated/network.ts'
export type { Program } from './simulated/processes.ts'
export type { SimulatedHost } from './simulated/host.ts'
export { SimulatedLinux } from './simulated/linux.ts'

export interface SimulationOptions {
  readonly seed: number | bigint
  readonly network?: Partial<NetworkFaults>
  /** Defaults for all hosts; `host.disk.setFaults` changes those of one host. */
  readonly disk?: Partial<DiskFaults>
}

/** Maximum timers fired by one call; beyond it the simulation is considered endless. */
const timersFiredMax = 10_000_000

/** Default virtual time limit of `settle`, for timers that repeat forever. */
const settleMsMax = 60 * 60 * 1_000

export class Simulation {
  readonly network: NetworkControl
  /** For the test script, which belongs to no host and survives every crash. */
  readonly clock: Clock
  /** Random numbers of the test script. */
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
    this.clock = new SimulatedClock(this.#world, new Life('script', time), new HostTime(time))
    this.random = new LabelledRandom(seed, 'script')
  }

  /** Virtual milliseconds since the simulation began. */
  get nowMs(): number {
    return this.#world.time.nowMs
  }

  /** The last lines of the trace, oldest first. */
  get trace(): readonly string[] {
    return this.#world.trace.lines()
  }

  /** Hash of the whole trace, including the lines that `trace` no longer holds. */
  traceHash(): string {
    return this.#world.trace.hash()
  }

  record(text: string): void {
    this.#world.trace.record('script', text)
  }

  /** The host with this name; created on the first call, up and with an empty disk. */
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

  /** Registers the program that `processes.start` runs for commands of this name, on every host. */
  program(name: string, program: Program): void {
    this.#programs.set(name, program)
  }

  /** Runs until this virtual time, or until the promise settles, and returns its result. */
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
      assert(!isStuck, 'deadlock: the promise is pending but no timer is')
      return !settled
    })
    return until
  }

  advance(byMs: number): Promise<void> {
    return this.#runUntil(this.nowMs + byMs)
  }

  /** Runs until no timer is pending. Returns true if that happened within the given time. */
  async settle(withinMs: number = settleMsMax): Promise<boolean> {
    const untilMs = this.nowMs + withinMs
    await this.#fireWhile(nextMs => nextMs <= untilMs)
    return this.#world.time.nextMs === undefined
  }

  async #runUntil(untilMs: number): Promise<void> {
    await this.#fireWhile(nextMs => nextMs <= untilMs)
    this.#world.time.advanceTo(untilMs)
  }

  /** Fires timers, and everything that follows from each, while the next one is wanted. */
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
        assert(fired < timersFiredMax, `no end after ${timersFiredMax} timers`)
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
