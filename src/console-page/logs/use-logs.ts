import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, errorText } from '../data/api-error.ts'
import { streamApi } from '../data/api-stream.ts'
import { LineSplitter } from '../data/line-splitter.ts'
import { nextFrame } from '../data/next-frame.ts'
import { LogBuffer, parseLogLine, type LogLine } from './log-buffer.ts'
import { sourcesMax, type LogSource } from './log-sources.ts'

export interface LogState {
  readonly lines: readonly LogLine[]
  readonly dropped: number
  /** By name of the source. */
  readonly errors: ReadonlyMap<string, string>
}

export interface LogStreamOptions {
  readonly isPrevious: boolean
  /** Lines of the past of each source. */
  readonly tailLines: number
}

const retryMs = 2_000
const linesMax = 5_000
const lineCharactersMax = 100_000
const empty: LogState = { lines: [], dropped: 0, errors: new Map() }

/** Follows the logs of the sources. Sources may come and go; `generation` begins again without lines. */
export function useLogs(
  sources: readonly LogSource[],
  generation: string,
  options: LogStreamOptions,
): LogState {
  const state = useSignal(empty)
  const streams = useRef(new Map<string, AbortController>())
  const reader = useRef<LogReader | undefined>(undefined)
  useEffect(() => {
    state.value = empty
    reader.current = new LogReader(next => (state.value = next))
    return () => {
      for (const each of streams.current.values()) each.abort()
      streams.current.clear()
    }
  }, [generation])
  const keys = sources.map(({ key }) => key).join(' ')
  useEffect(() => {
    // Streams of containers that are gone end by themselves; their lines stay.
    for (const source of sources.slice(0, sourcesMax)) {
      if (streams.current.has(source.key)) continue
      const ended = new AbortController()
      streams.current.set(source.key, ended)
      void reader.current?.follow(source, { ...options, signal: ended.signal })
    }
  }, [generation, keys])
  return state.value
}

interface FollowOptions extends LogStreamOptions {
  readonly signal: AbortSignal
}

class LogReader {
  readonly #publish: (state: LogState) => void
  readonly #buffer = new LogBuffer({ linesMax })
  readonly #errors = new Map<string, string>()
  /** Time of the last line of each source by its key, where it continues after a lost connection. */
  readonly #lastTimes = new Map<string, string>()
  #pending: LogLine[] = []
  #isFrameRequested = false

  constructor(publish: (state: LogState) => void) {
    this.#publish = publish
  }

  /** Reads until the log ends; continues after a lost connection. Never rejects. */
  async follow(source: LogSource, options: FollowOptions): Promise<void> {
    const { signal } = options
    while (!signal.aborted) {
      try {
        await this.#read(source, options)
        this.#errors.delete(source.name)
        break
      } catch (error) {
        if (signal.aborted) return
        this.#errors.set(source.name, errorText(error))
        if (error instanceof ApiError) break
      }
      this.#request(signal)
      await new Promise<void>(resolve => setTimeout(resolve, retryMs))
    }
    this.#request(signal)
  }

  async #read(source: LogSource, options: FollowOptions): Promise<void> {
    const splitter = new LineSplitter({ charactersMax: lineCharactersMax })
    const since = this.#lastTimes.get(source.key)
    const path = logPath(source, { ...options, since })
    for await (const text of streamApi(path, { accept: '*/*', signal: options.signal })) {
      this.#receive(source, splitter.push(text), since)
    }
    const rest = splitter.end()
    if (rest !== undefined) this.#receive(source, [rest], since)
  }

  /** The kubelet compares `sinceTime` in seconds: lines that were received before come again. */
  #receive(source: LogSource, lines: readonly string[], since: string | undefined): void {
    for (const line of lines) {
      const parsed = parseLogLine(source.name, line)
      if (since !== undefined && parsed.time <= since) continue
      this.#pending.push(parsed)
      if (parsed.time !== '') this.#lastTimes.set(source.key, parsed.time)
    }
    if (this.#pending.length > linesMax * 2) this.#pending = this.#pending.slice(-linesMax)
    this.#request()
  }

  #request(signal?: AbortSignal): void {
    if (this.#isFrameRequested) return
    this.#isFrameRequested = true
    nextFrame(() => {
      this.#isFrameRequested = false
      if (signal?.aborted) return
      this.#buffer.push(this.#pending)
      this.#pending = []
      const { lines, dropped } = this.#buffer
      this.#publish({ lines, dropped, errors: new Map(this.#errors) })
    })
  }
}

function logPath(
  { namespace, pod, container }: LogSource,
  { isPrevious, tailLines, since }: LogStreamOptions & { readonly since: string | undefined },
): string {
  const parameters = new URLSearchParams({
    container,
    timestamps: 'true',
    ...(since === undefined ? { tailLines: String(tailLines) } : { sinceTime: since }),
    ...(isPrevious ? { previous: 'true' } : { follow: 'true' }),
  })
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${parameters}`
}
