/** A child process that is restarted when it exits, with growing pauses, until it is stopped. */
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import type { Platform, Process, ProcessExit } from '#/platform/platform.ts'

export interface SupervisedProcessOptions {
  readonly platform: Platform
  /** In the log: `{ node: 'worker-2' }`. */
  readonly fields: Readonly<Record<string, string>>
  /** Path of the output of the process. */
  readonly logPath: string
  /** Time to exit after SIGTERM, before SIGKILL. */
  readonly stopMs: number
  /** Prepares and starts the process. */
  readonly start: (signal: AbortSignal) => Promise<Process>
  /** The process has ended without being asked to. */
  readonly onExit?: (exit: ProcessExit) => void
}

/** SIGUSR2 asks the process to hand over: its containers go on. */
export type EndSignal = 'SIGTERM' | 'SIGUSR2'

const restarting: Backoff = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0.2 }

/** Uptime after which the restart backoff is reset. */
const steadyMs = 30_000

export class SupervisedProcess implements AsyncDisposable {
  readonly #options: SupervisedProcessOptions
  readonly #stopping = new AbortController()
  #process: Process | undefined
  #restarts = 0
  #endSignal: EndSignal = 'SIGTERM'
  #running: Promise<void> = Promise.resolve()

  constructor(options: SupervisedProcessOptions) {
    this.#options = options
  }

  start(): void {
    this.#running = this.#supervise()
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** Number of restarts since `start`. */
  get restarts(): number {
    return this.#restarts
  }

  /** Ends the current run of the process gracefully; the next one follows. */
  restart(): void {
    this.#terminate()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGTERM')
  }

  async stop(signal: EndSignal): Promise<void> {
    this.#endSignal = signal
    this.#stopping.abort()
    this.#terminate()
    await this.#running
  }

  #terminate(): void {
    const process = this.#process
    if (process === undefined) return
    process.kill(this.#endSignal)
    const { clock } = this.#options.platform
    const timer = clock.setTimer(this.#options.stopMs, () => process.kill('SIGKILL'))
    void process.exited.then(() => timer.cancel())
  }

  async #supervise(): Promise<void> {
    const { platform, fields, logPath } = this.#options
    const { clock, log, random } = platform
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs()
      try {
        const exit = await this.#runOnce()
        if (signal.aborted) return
        log.warn('Process exited, restarting', { ...fields, ...exit, log: logPath })
        this.#options.onExit?.(exit)
      } catch (error) {
        if (signal.aborted) return
        log.error('Failed to start process', { ...fields, error })
      }
      this.#restarts++
      failures = clock.monotonicMs() - startedMs > steadyMs ? 1 : failures + 1
      const delayMs = backoffMs(failures, restarting, random.fraction('restart'))
      await clock.sleep(delayMs, signal).catch(() => undefined)
    }
  }

  async #runOnce(): Promise<ProcessExit> {
    const { signal } = this.#stopping
    const process = await this.#options.start(signal)
    this.#process = process
    if (signal.aborted) this.#terminate()
    const exit = await process.exited
    this.#process = undefined
    return exit
  }
}
