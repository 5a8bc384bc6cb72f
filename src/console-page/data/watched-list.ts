import { signal, type ReadonlySignal } from '@preact/signals'
import { ApiError } from './api-error.ts'
import { getJson } from './api-request.ts'
import { streamApi } from './api-stream.ts'
import { nextFrame } from './next-frame.ts'
import { LineSplitter } from './line-splitter.ts'
import { planReconnect, type Reconnect } from './plan-reconnect.ts'
import { WatchCache, type ListFormat, type ListMessage, type WatchMessage } from './watch-cache.ts'

export interface WatchSnapshot<T, Head = undefined> {
  readonly phase: 'loading' | Reconnect['phase']
  /** By namespace and name. The map is replaced or changed with each snapshot. */
  readonly items: ReadonlyMap<string, T>
  readonly head: Head | undefined
  /** The latest failure while the phase is not `live`. */
  readonly error: Error | undefined
}

/** Query of a list: `/api/v1/pods`, with `labelSelector=app%3Dweb` as parameters. */
export interface ListQuery {
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
  /** False for resources without the verb `watch`: they are listed again and again. */
  readonly isWatched?: boolean
}

const pageItems = 500
/** Unapplied events of a page in the background; then they are applied at once. */
const pendingMax = 5_000
const pollMs = 15_000
const lineCharactersMax = 16_000_000
/** A watch that ends sooner counts as failed, since it would be repeated without a pause. */
const shortWatchMs = 2_000

/**
 * A list that is kept current with a watch. Events are applied together once for each frame. It reconnects with growing
 * pauses, continues from the last resource version, and lists again when that has expired.
 */
export class WatchedList<T, Head = undefined> {
  readonly #query: ListQuery
  readonly #format: ListFormat<T, Head>
  readonly #cache: WatchCache<T>
  readonly #snapshot = signal<WatchSnapshot<T, Head>>({
    phase: 'loading',
    items: new Map(),
    head: undefined,
    error: undefined,
  })
  #pending: WatchMessage[] = []
  #isFrameRequested = false
  #isListed = false

  constructor(query: ListQuery, format: ListFormat<T, Head>) {
    this.#query = query
    this.#format = format
    this.#cache = new WatchCache(format)
  }

  get snapshot(): ReadonlySignal<WatchSnapshot<T, Head>> {
    return this.#snapshot
  }

  async run(signal: AbortSignal): Promise<void> {
    let step: Reconnect['step'] = 'list'
    let failures = 0
    while (!signal.aborted) {
      const startedMs = performance.now()
      let error: Error | undefined
      try {
        if (step === 'list') await this.#list(signal)
        await (this.#query.isWatched === false ? pause(pollMs, signal) : this.#watch(signal))
      } catch (thrown) {
        error = thrown instanceof Error ? thrown : new Error(String(thrown))
      }
      if (signal.aborted) return
      this.#applyPending()
      const isShort = performance.now() - startedMs < shortWatchMs
      failures = isShort ? failures + 1 : error ? 1 : 0
      const status = error instanceof ApiError ? error.status : undefined
      const next = planReconnect({ status }, { failures, isListed: this.#isListed })
      step = this.#query.isWatched === false ? 'list' : next.step
      if (next.phase === 'refused') this.#clear()
      if (next.phase !== 'live') this.#publish({ phase: next.phase, error })
      await pause(next.delayMs, signal)
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const items: T[] = []
    let token = ''
    do {
      const page = await this.#page(token, signal)
      const { items: found, head } = this.#format.readPage(page)
      items.push(...found)
      token = page.metadata?.continue ?? ''
      // A list that was shown before stays until the new one is complete.
      if (token !== '' && this.#isListed) continue
      this.#cache.replace(items, page.metadata?.resourceVersion ?? '')
      this.#publish({ phase: token === '' ? 'live' : 'loading', head, error: undefined })
    } while (token !== '')
    this.#isListed = true
  }

  async #page(token: string, signal: AbortSignal): Promise<ListMessage> {
    const parameters = { limit: String(pageItems), ...(token && { continue: token }) }
    return getJson<ListMessage>(this.#path(parameters), { accept: this.#format.accept, signal })
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { resourceVersion } = this.#cache
    const path = this.#path({ watch: '1', allowWatchBookmarks: 'true', resourceVersion })
    const lines = new LineSplitter({ charactersMax: lineCharactersMax })
    const stream = streamApi(path, { accept: this.#format.accept, signal })
    for await (const text of stream) {
      this.#receive(lines.push(text).filter(Boolean).map(parseMessage))
    }
  }

  #receive(messages: readonly WatchMessage[]): void {
    this.#pending.push(...messages)
    if (messages.some(({ type }) => type === 'ERROR') || this.#pending.length > pendingMax) {
      const error = this.#applyPending()
      if (error) throw error
    } else if (!this.#isFrameRequested) {
      this.#isFrameRequested = true
      nextFrame(() => {
        this.#isFrameRequested = false
        this.#applyPending()
      })
    }
  }

  #applyPending(): ApiError | undefined {
    const messages = this.#pending
    if (messages.length === 0) return undefined
    this.#pending = []
    const error = this.#cache.apply(messages)
    const changes = messages.some(({ type }) => type !== 'BOOKMARK')
    if (changes || this.#snapshot.peek().phase !== 'live') this.#publish({ phase: 'live', error: undefined })
    return error
  }

  #clear(): void {
    this.#cache.replace([], '')
    this.#isListed = false
  }

  #publish(changes: Partial<WatchSnapshot<T, Head>>): void {
    this.#snapshot.value = { ...this.#snapshot.peek(), ...changes, items: this.#cache.items }
  }

  #path(parameters: Readonly<Record<string, string>>): string {
    return `${this.#query.path}?${new URLSearchParams({ ...this.#query.parameters, ...parameters }).toString()}`
  }
}

function parseMessage(line: string): WatchMessage {
  return JSON.parse(line) as WatchMessage
}

/** Ends early when the signal is aborted, or when the network is back. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds === 0 || signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = (): void => resolve()
  const timer = setTimeout(done, milliseconds)
  signal.addEventListener('abort', done)
  addEventListener('online', done)
  await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', done)
  removeEventListener('online', done)
}
