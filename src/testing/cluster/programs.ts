import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'

/** The environment of a test program that runs in the cluster. */
export interface ProgramContext {
  readonly client: Client
  /** The cluster's clock, timers and random numbers. */
  readonly platform: Platform
  /** Aborted when the program or the whole cluster is stopped. */
  readonly signal: AbortSignal
}

/** Runs until the signal is aborted. */
export type Program = (context: ProgramContext) => Promise<void>

export interface RunningProgram extends AsyncDisposable {
  /** Resolves when the program has ended. */
  stop(): Promise<void>
}

export class Programs {
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #failure: { readonly error: unknown } | undefined

  start(program: Program, context: Omit<ProgramContext, 'signal'>): RunningProgram {
    const own = new AbortController()
    const signal = AbortSignal.any([own.signal, this.#stopping.signal])
    const running = this.#run(program, { ...context, signal })
    this.#running.add(running)
    const stop = async (): Promise<void> => {
      own.abort()
      await running
      this.#running.delete(running)
    }
    return { stop, [Symbol.asyncDispose]: stop }
  }

  /** Throws the first error that a program ended with, once. */
  throwFailure(): void {
    const failure = this.#failure
    if (failure === undefined) return
    this.#failure = undefined
    throw failure.error
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
  }

  async #run(program: Program, context: ProgramContext): Promise<void> {
    try {
      await program(context)
    } catch (error) {
      if (!context.signal.aborted) this.#failure ??= { error }
    }
  }
}
