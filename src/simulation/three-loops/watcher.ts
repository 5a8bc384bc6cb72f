/** Follows all changes across broken connections and store crashes. */
import type { Duplex } from 'node:stream'
import type { Platform } from '#/platform/platform.ts'
import type { Observations } from './checkers.ts'
import { storeHost, watchPort, type Progress } from './messages.ts'

/** Delay before reconnecting. */
const reconnectMs = 20

export class Watcher {
  readonly #platform: Platform
  readonly #observations: Observations
  /** All events up to this revision have been received. */
  #revision = 0

  constructor(platform: Platform, observations: Observations) {
    this.#platform = platform
    this.#observations = observations
  }

  get revision(): number {
    return this.#revision
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, network, log } = this.#platform
    while (!signal.aborted) {
      try {
        await this.#follow(await network.connect({ host: storeHost, port: watchPort }, signal), signal)
      } catch (error) {
        log.debug('watch broke', { error })
      }
      await clock.sleep(reconnectMs, signal).catch(() => undefined)
    }
  }

  async #follow(connection: Duplex, signal: AbortSignal): Promise<void> {
    const stop = (): void => void connection.destroy()
    signal.addEventListener('abort', stop, { once: true })
    connection.write(`${this.#revision}\n`)
    let text = ''
    try {
      for await (const piece of connection as AsyncIterable<Buffer>) {
        text += piece.toString()
        const lines = text.split('\n')
        text = lines.pop() ?? ''
        for (const line of lines) this.#see(JSON.parse(line) as Progress)
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  #see(progress: Progress): void {
    this.#observations.watched.push(...progress.events)
    this.#revision = progress.revision
  }
}
