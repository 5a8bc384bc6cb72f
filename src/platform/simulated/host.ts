/**
 * A simulated machine. It is a `Platform`: everything that it provides belongs to the current life, which a
 * crash ends. The disk, the name and the random streams survive a crash.
 */
import { assert } from '#/base/assert.ts'
import type { Clock, Files, Log, Network, Platform, Processes, Random } from '../platform.ts'
import { HostTime, SimulatedClock } from './clock.ts'
import { Disk } from './disk.ts'
import type { DiskControl, DiskFaults } from './disk-faults.ts'
import { SimulatedFiles } from './files.ts'
import { HostNetwork } from './host-network.ts'
import { LabelledRandom } from './labelled-random.ts'
import { Life } from './life.ts'
import { SimulatedLog } from './log.ts'
import type { NetworkNode, SimulatedNetwork } from './network.ts'
import { SimulatedProcesses, type ProcessTable, type Program } from './processes.ts'
import type { World } from './world.ts'

export interface HostOptions {
  readonly world: World
  readonly name: string
  /** IP address of the host, an alternative to its name. */
  readonly address: string
  readonly network: SimulatedNetwork
  readonly diskFaults: Partial<DiskFaults>
  readonly programs: ReadonlyMap<string, Program>
}

/** First port assigned for port 0. */
const firstFreePort = 32_768
const lastPort = 65_535

export class SimulatedHost implements Platform {
  readonly name: string
  readonly address: string
  readonly random: Random
  readonly #world: World
  readonly #network: SimulatedNetwork
  readonly #node: NetworkNode
  readonly #disk: Disk
  readonly #table: ProcessTable
  readonly #time: HostTime
  #nextPort = firstFreePort
  #life: Life
  #platform: Platform
  #crashTurn = -1

  constructor(options: HostOptions) {
    const { world, name, network } = options
    this.name = name
    this.address = options.address
    this.random = new LabelledRandom(world.seed, `host/${name}`)
    this.#world = world
    this.#time = new HostTime(world.time)
    this.#network = network
    this.#disk = new Disk({ world, host: name, faults: options.diskFaults })
    this.#node = {
      name,
      address: options.address,
      listeners: new Map(),
      sockets: new Map(),
      up: () => this.up,
      freePort: taken => this.#freePort(taken),
    }
    this.#table = {
      host: name,
      programs: options.programs,
      lives: new Set(),
      nextPid: 100,
      platformFor: life => this.#platformFor(life),
    }
    network.attach(this.#node)
    this.#life = new Life(name, world.time)
    this.#platform = this.#platformFor(this.#life)
  }

  get clock(): Clock {
    return this.#platform.clock
  }

  get network(): Network {
    return this.#platform.network
  }

  get files(): Files {
    return this.#platform.files
  }

  get processes(): Processes {
    return this.#platform.processes
  }

  get log(): Log {
    return this.#platform.log
  }

  /** Aborted when the host crashes. Each life has its own. */
  get signal(): AbortSignal {
    return this.#life.signal
  }

  get up(): boolean {
    return !this.#life.ended
  }

  get disk(): DiskControl {
    return this.#disk
  }

  /** Moves the wall clock forwards or, with a negative number, back. Timers are not affected. */
  jumpClock(byMs: number): void {
    this.#time.skewMs += byMs
    this.#world.trace.record(this.name, `clock jumps by ${byMs} ms`)
  }

  /** Lets the clocks and timers of the host run faster or slower than virtual time, such as at 1.0001. */
  setClockRate(rate: number): void {
    assert(rate > 0, `not a clock rate: ${rate}`)
    this.#time.rate = rate
    this.#world.trace.record(this.name, `clock runs at rate ${rate}`)
  }

  /**
   * Stops the execution of everything on the host until `resume`, as a paused virtual machine or, for a single
   * program, SIGSTOP or a long garbage collection do. Timers that expire, messages that arrive and operations of
   * the disk that complete are noticed afterwards. The clock goes on.
   */
  stall(): void {
    assert(this.up, `${this.name} is down`)
    this.#world.trace.record(this.name, 'stalls')
    for (const life of this.#lives()) life.stop()
  }

  resume(): void {
    this.#world.trace.record(this.name, 'resumes')
    for (const life of this.#lives()) life.goOn()
  }

  /**
   * Simulates a power failure. Timers and processes are gone, connections are reset, unsynced data is lost or
   * torn. Code that runs on the host stays suspended; operations that it starts when `signal` aborts never
   * complete.
   */
  crash(): void {
    assert(this.up, `${this.name} is down already`)
    this.#world.trace.record(this.name, 'crash')
    this.#crashTurn = this.#world.time.turns
    for (const life of this.#lives()) life.end('crash')
    this.#table.lives.clear()
    this.#disk.crash()
  }

  /** Boots with the disk as the crash left it, with nothing running. */
  restart(): void {
    assert(!this.up, `${this.name} is up already`)
    // Otherwise code of the old life, resumed by its signal, would run in the new one.
    const isLater = this.#world.time.turns > this.#crashTurn
    assert(isLater, `${this.name} cannot restart at the moment it crashes: sleep first`)
    this.#life = new Life(this.name, this.#world.time)
    this.#platform = this.#platformFor(this.#life)
    this.#world.trace.record(this.name, 'restart')
  }

  /** Of the processes, and of the host. */
  #lives(): readonly Life[] {
    return [...this.#table.lives, this.#life]
  }

  #platformFor(life: Life): Platform {
    const world = this.#world
    const clock = new SimulatedClock(world, life, this.#time)
    return {
      clock,
      random: this.random,
      network: new HostNetwork({ world, life, network: this.#network, node: this.#node }),
      files: new SimulatedFiles({ world, life, disk: this.#disk, nowMs: () => clock.now() }),
      processes: new SimulatedProcesses({ world, life, table: this.#table }),
      log: new SimulatedLog(world, life),
    }
  }

  #freePort(taken: ReadonlyMap<number | string, unknown>): number {
    for (let tries = firstFreePort; tries <= lastPort; tries++) {
      const port = this.#nextPort
      this.#nextPort = port === lastPort ? firstFreePort : port + 1
      if (!taken.has(port)) return port
    }
    throw new Error(`${this.name} has no free port left`)
  }
}
