import { ApiError } from '#/api/errors.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import type { LogSource } from './log-sources.ts'
import { linesOf, readLog, type LogQuery } from './read-log.ts'

export interface PrintLogsOptions {
  readonly query: LogQuery
  readonly follow: boolean
  /** Puts pod and container before each line. */
  readonly prefix: boolean
  readonly ignoreErrors: boolean
  /** How long a log that cannot be followed yet is requested again. */
  readonly retryMs: number
  readonly signal?: AbortSignal
}

/** One after the other; logs that are followed at the same time. */
export async function printLogs(
  factory: Factory,
  sources: readonly LogSource[],
  options: PrintLogsOptions,
): Promise<void> {
  if (options.follow) {
    await Promise.all(sources.map(source => printWithRetries(factory, source, options)))
    return
  }
  for (const source of sources) {
    try {
      await printLog(factory, source, options)
    } catch (error) {
      if (!options.ignoreErrors) throw error
      factory.machine.streams.write(`error: ${messageOf(error)}\n`)
    }
  }
}

const retryIntervalMs = 1_000

async function printWithRetries(
  factory: Factory,
  source: LogSource,
  options: PrintLogsOptions,
): Promise<void> {
  const { streams, platform } = factory.machine
  const untilMs = platform.clock.monotonicMs() + options.retryMs
  for (;;) {
    try {
      return await printLog(factory, source, options)
    } catch (error) {
      if (options.signal?.aborted) throw error
      if (options.ignoreErrors) return streams.write(`error: ${messageOf(error)}\n`)
      streams.stderr.write(`${messageOf(error)}\n`)
      if (!(error instanceof ApiError)) throw error
      if (platform.clock.monotonicMs() + retryIntervalMs > untilMs) {
        throw new Error('context deadline exceeded', { cause: error })
      }
      await platform.clock.sleep(retryIntervalMs, options.signal)
    }
  }
}

async function printLog(factory: Factory, source: LogSource, options: PrintLogsOptions): Promise<void> {
  const { stdout } = factory.machine.streams
  const { prefix, query, signal } = options
  const log = await readLog(factory, { ...source, query, ...(signal && { signal }) })
  const start = Buffer.from(prefix ? `[pod/${source.pod.metadata.name}/${source.container}] ` : '')
  // Only whole lines may be mixed with those of other logs.
  const pieces = prefix || options.follow ? prefixed(log, start) : log
  for await (const piece of pieces) {
    stdout.write(piece)
    await stdout.drained()
  }
}

async function* prefixed(
  log: AsyncIterable<Uint8Array>,
  prefix: Uint8Array,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { bytes, isStart } of linesOf(log)) yield isStart ? Buffer.concat([prefix, bytes]) : bytes
}
