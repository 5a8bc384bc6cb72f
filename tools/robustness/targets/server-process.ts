import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ServerProcessOptions {
  readonly name: string
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Receives the output of all starts. */
  readonly logFile: string
  /** Polled after a start until it is true. */
  readonly isReady: () => Promise<boolean>
}

/** A program that is killed and started again. It is terminated with this process in any case. */
export class ServerProcess implements AsyncDisposable {
  readonly name: string
  readonly #options: ServerProcessOptions
  #child: ChildProcess | undefined

  constructor(options: ServerProcessOptions) {
    this.name = options.name
    this.#options = options
  }

  get pid(): number {
    return this.#child!.pid!
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Starts it, and again if it exits before it is ready. */
  async start(): Promise<void> {
    const { name, isReady, logFile } = this.#options
    const deadlineMs = performance.now() + startMsMax
    this.#spawn()
    while (!(await isReady())) {
      if (performance.now() > deadlineMs) throw new Error(`${name} does not become ready: see ${logFile}`)
      await sleep(pollMs)
      if (!this.isRunning) this.#spawn()
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.isRunning) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  #spawn(): void {
    const { command, environment = {}, logFile } = this.#options
    const log = openSync(logFile, 'a')
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...environment },
    })
    this.#child.once('error', () => undefined)
    closeSync(log)
  }
}

/** Longer than a start takes on a slow machine. */
const startMsMax = 120_000
const pollMs = 50
