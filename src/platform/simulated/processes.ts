/**
 * The processes of one host. A program is a function registered under a name, and a process is one call of
 * it, with its own life and platform on the host.
 */
import { PassThrough, type Readable, type Writable } from 'node:stream'
import type { Platform, Process, Processes, ProcessExit, ProcessOptions } from '../platform.ts'
import { Life } from './life.ts'
import { never, systemError, type World } from './world.ts'

/**
 * Runs until it returns its exit code or is killed. An exception is a bug of the test and is thrown by `run`.
 */
export type Program = (process: RunningProcess) => Promise<number>

/** Arguments of a program. */
export interface RunningProcess {
  readonly pid: number
  /** The command without the program name. */
  readonly parameters: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly folder: string
  /** The platform of the process; it stops responding once the process is killed. */
  readonly platform: Platform
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  /** Aborted when the process has ended, for any reason. */
  readonly signal: AbortSignal
  /** Installs a signal handler. Not for SIGKILL, SIGSTOP and SIGCONT. */
  readonly onSignal: (handle: (name: string) => void) => void
}

/** Shared by all lives on a host. */
export interface ProcessTable {
  readonly host: string
  readonly programs: ReadonlyMap<string, Program>
  /** Lives of the running processes, ended by a crash of the host. */
  readonly lives: Set<Life>
  nextPid: number
  /** The platform of a process with this life. */
  platformFor(life: Life): Platform
}

/** Duration of starting a program. */
const startMs = 1

export class SimulatedProcesses implements Processes {
  readonly #world: World
  readonly #table: ProcessTable
  readonly #life: Life

  constructor(options: { world: World; table: ProcessTable; life: Life }) {
    this.#world = options.world
    this.#table = options.table
    this.#life = options.life
  }

  start(command: readonly string[], options: ProcessOptions = {}): Promise<Process> {
    if (this.#life.ended) return never()
    return new Promise((resolve, reject) => {
      this.#life.later(startMs, () => {
        const [name = ''] = command
        const program = this.#table.programs.get(name.slice(name.lastIndexOf('/') + 1))
        if (options.signal?.aborted) return reject(options.signal.reason)
        if (program !== undefined) resolve(this.#run(program, command, options))
        else reject(systemError('ENOENT', `cannot start ${name}: no such program`))
      })
    })
  }

  #run(program: Program, command: readonly string[], options: ProcessOptions): Process {
    const pid = this.#table.nextPid++
    const life = new Life(`${this.#table.host}/${pid}`, this.#world.time)
    this.#table.lives.add(life)
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const { promise: exited, resolve } = Promise.withResolvers<ProcessExit>()
    const finish = (exit: ProcessExit): void => {
      if (life.ended) return
      this.#world.trace.record(life.name, `exited ${'code' in exit ? exit.code : exit.signal}`)
      options.signal?.removeEventListener('abort', onAbort)
      this.#table.lives.delete(life)
      life.end('exit')
      stdin.destroy()
      stdout.end()
      stderr.end()
      resolve(exit)
    }
    const onAbort = (): void => finish({ signal: 'SIGKILL' })
    options.signal?.addEventListener('abort', onAbort, { once: true })
    // Writing to an ended program, or by one, must not end the simulation.
    for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined)
    let handle: ((name: string) => void) | undefined
    this.#world.trace.record(life.name, `started ${command.join(' ')}`)
    program({
      pid,
      parameters: command.slice(1),
      environment: options.environment ?? {},
      folder: options.folder ?? '/',
      platform: this.#table.platformFor(life),
      stdin,
      stdout,
      stderr,
      signal: life.signal,
      onSignal: taker => {
        handle = taker
      },
    }).then(
      code => finish({ code }),
      error => (life.ended ? undefined : this.#world.fail(error)),
    )
    const kill: Process['kill'] = name => deliver(life, name, { finish, handle: () => handle })
    return { pid, stdin, stdout, stderr, exited, kill }
  }
}

function deliver(life: Life, name: Parameters<Process['kill']>[0], process: SignalTarget): void {
  if (name === 'SIGSTOP') return life.stop()
  if (name === 'SIGCONT') return life.goOn()
  if (name === 'SIGKILL') return process.finish({ signal: name })
  // A stopped process receives the signal when it continues.
  life.enter(() => {
    const handle = process.handle()
    if (handle === undefined) process.finish({ signal: name })
    else handle(name)
  })
}

interface SignalTarget {
  readonly finish: (exit: ProcessExit) => void
  readonly handle: () => ((name: string) => void) | undefined
}
