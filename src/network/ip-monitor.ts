/**
 * Follows `ip monitor`, which prints changes of links, addresses, routes, neighbours and forwarding entries as
 * the kernel reports them. Changes may be lost when they come too fast and while the program restarts; a call
 * of `onChange` then stands for any number of them.
 */
import { backoffMs } from '#/base/backoff.ts'
import type { Platform, Processes } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'

export interface IpMonitorOptions {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'log'>
  readonly processes: Processes
  readonly objects: readonly ('link' | 'address' | 'route' | 'neigh')[]
  /** Of a line of `ip -o monitor label`. */
  readonly isRelevant: (line: string) => boolean
  /** A relevant change, or an unknown number of them. */
  readonly onChange: () => void
}

const retry = { initialMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0.1 }

/** A program that has run this long did not fail to start. */
const steadyMs = 60_000

/** Longer lines are cut. */
const lineCharactersMax = 64 * 1024

export class IpMonitor {
  readonly #options: IpMonitorOptions
  readonly #log: ThrottledLog

  constructor(options: IpMonitorOptions) {
    this.#options = options
    this.#log = new ThrottledLog(options.platform)
  }

  /** Until aborted. A program that ends is started again. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, onChange } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const startedMs = platform.clock.monotonicMs()
      const reason = await this.#follow(signal).catch((error: unknown) => error)
      if (signal.aborted) return
      this.#log.error('follow', 'Failed to follow changes of the network', { reason })
      failures = platform.clock.monotonicMs() - startedMs > steadyMs ? 1 : failures + 1
      const delayMs = backoffMs(failures, retry, platform.random.fraction('ip monitor retry'))
      await platform.clock.sleep(delayMs, signal).catch(() => undefined)
      onChange()
    }
  }

  async #follow(signal: AbortSignal): Promise<unknown> {
    const { processes, objects, isRelevant, onChange } = this.#options
    const command = ['ip', '-o', 'monitor', 'label', ...objects]
    const { stdout, stderr, exited } = await processes.start(command, { signal })
    // The program reports a full buffer of its socket, and goes on.
    stderr.on('data', onChange)
    const decoder = new TextDecoder()
    let partial = ''
    for await (const chunk of stdout) {
      const text = partial + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
      const lines = text.split('\n')
      partial = (lines.pop() ?? '').slice(0, lineCharactersMax)
      if (lines.some(isRelevant)) onChange()
    }
    return exited
  }
}
