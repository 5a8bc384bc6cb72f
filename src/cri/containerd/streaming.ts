import { messageOf } from '#/base/message-of.ts'
import type { Duplex } from 'node:stream'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { connectCommand } from '#/streams/command-client.ts'
import { connectPortForward } from '#/streams/port-forward-client.ts'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'
import { CriError, type CallOptions } from '../cri.ts'

/** Sessions with the runtime's streaming server, at the single-use URLs that CRI returns. */
export class Streaming {
  readonly #platform: Platform
  readonly #connectHttp: HttpConnect

  constructor(platform: Platform, connectHttp: HttpConnect) {
    this.#platform = platform
    this.#connectHttp = connectHttp
  }

  command(url: string, streams: CommandOptions, options?: CallOptions): Promise<CommandProcess> {
    return this.#open(options, signal => connectCommand({ ...this.#common(url), streams, signal }))
  }

  port(url: string, port: number, options?: CallOptions): Promise<Duplex> {
    return this.#open(options, signal => connectPortForward({ ...this.#common(url), port, signal }))
  }

  #common(url: string) {
    return { connectHttp: this.#connectHttp, clock: this.#platform.clock, url }
  }

  /** The timeout covers connecting only, not the session. */
  async #open<T>(options: CallOptions | undefined, connect: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, timeoutMs = connectTimeoutMs } = options ?? {}
    const late = new AbortController()
    const timer = this.#platform.clock.setTimer(timeoutMs, () => late.abort())
    try {
      return await connect(signal ? AbortSignal.any([signal, late.signal]) : late.signal)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (late.signal.aborted) throw new CriError('timeout', 'timed out opening the streaming session')
      if (error instanceof CriError) throw error
      throw new CriError('failed', messageOf(error), { cause: error })
    } finally {
      timer.cancel()
    }
  }
}

const connectTimeoutMs = 30_000
