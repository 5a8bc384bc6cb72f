import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
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

export interface ProcessEnd {
  /** Undefined when it was killed by a signal. */
  readonly code: number | undefined
  readonly output: string
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

  /** Resolves with the id of the process, as soon as there is one. */
  async running(): Promise<number> {
    while (!this.isRunning) await sleep(pollMs)
    return this.pid
  }

  /** Starts it, and again if it exits before it is ready. */
  async start(): Promise<void> {
    const deadlineMs = performance.now() + startMsMax
    while ((await this.#startUntil(deadlineMs)) !== undefined) await sleep(pollMs)
  }

  /** Starts it once. Resolves when it is ready, or with its end if it exits before. */
  startOnce(): Promise<ProcessEnd | undefined> {
    return this.#startUntil(performance.now() + startMsMax)
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

  async #startUntil(deadlineMs: number): Promise<ProcessEnd | undefined> {
    const { name, isReady, logFile } = this.#options
    const outputAt = existsSync(logFile) ? statSync(logFile).size : 0
    this.#spawn()
    while (!(await isReady())) {
      if (performance.now() > deadlineMs) throw new Error(`${name} does not become ready: see ${logFile}`)
      await sleep(pollMs)
      if (this.isRunning) continue
      const output = (await readFile(logFile)).subarray(outputAt).toString()
      return { code: this.#child?.exitCode ?? undefined, output }
    }
    return undefined
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
