import type { Clock, Timer } from '#/platform/platform.ts'
import type { CommandStep } from '../simulated-command.ts'

export interface CommandRunOptions {
  readonly clock: Clock
  readonly steps: readonly CommandStep[]
  /** True if stdin is open. */
  readonly hasInput: boolean
  /** Resolves when more output can be written. */
  readonly print: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => Promise<void>
  readonly writeFile: (path: string, text: string) => Promise<void>
  /** Called at most once; not called after `cutOff`. */
  readonly onExit: (code: number) => void
}

/**
 * Executes the steps of a command. It uses at most one timer, and none while it waits for input or forever.
 */
export class CommandRun {
  readonly #options: CommandRunOptions
  #next = 0
  #timer: Timer | undefined
  #isCopying = false
  #hasInput: boolean
  #isOver = false

  constructor(options: CommandRunOptions) {
    this.#options = options
    this.#hasInput = options.hasInput
  }

  start(): void {
    void this.#walk()
  }

  cutOff(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }

  /** Input is discarded unless a `copy` step is running. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isCopying && !this.#isOver) await this.#options.print('stdout', bytes)
  }

  endInput(): void {
    this.#hasInput = false
    if (!this.#isCopying || this.#isOver) return
    this.#isCopying = false
    void this.#walk()
  }

  async #walk(): Promise<void> {
    const { clock, steps, onExit } = this.#options
    while (!this.#isOver) {
      const step = steps[this.#next++]
      if (step === undefined) return
      if (step.do === 'wait') {
        if (step.ms !== Infinity) this.#timer = clock.setTimer(step.ms, () => void this.#walk())
        return
      }
      if (step.do === 'copy') {
        this.#isCopying = this.#hasInput
        if (this.#isCopying) return
      } else if (step.do === 'exit') {
        this.#isOver = true
        onExit(step.code)
      } else await this.#perform(step)
    }
  }

  async #perform(step: Extract<CommandStep, { do: 'print' | 'write' }>): Promise<void> {
    const { print, writeFile } = this.#options
    if (step.do === 'print') await print(step.stream, new TextEncoder().encode(step.text))
    else await writeFile(step.path, step.text)
  }
}
