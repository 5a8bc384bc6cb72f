/** One line of JSON for each request, written in batches. */
import type { Clock, Timer } from '#/platform/platform.ts'

export interface AccessLogEntry {
  readonly client: string
  readonly method: string
  readonly host: string
  readonly target: string
  readonly status: number
  readonly requestBytes: number
  readonly responseBytes: number
  readonly durationMs: number
  readonly route: string
  readonly backend: string
  readonly attempts: number
  readonly requestId: string
}

export interface AccessLogOptions {
  readonly clock: Clock
  readonly write: (text: string) => void
}

export class AccessLog {
  readonly #options: AccessLogOptions
  #lines = ''
  #timer: Timer | undefined

  constructor(options: AccessLogOptions) {
    this.#options = options
  }

  log(entry: AccessLogEntry): void {
    const { clock } = this.#options
    this.#lines += `${JSON.stringify({ time: new Date(clock.now()).toISOString(), ...entry })}\n`
    if (this.#lines.length > batchCharactersMax) this.flush()
    else this.#timer ??= clock.setTimer(batchMs, () => this.flush())
  }

  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#lines !== '') this.#options.write(this.#lines)
    this.#lines = ''
  }
}

const batchMs = 100
const batchCharactersMax = 64 * 1024
