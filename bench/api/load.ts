/** A load generator that repeats one request. */
import {
  headerBlock,
  Http2Connection,
  type RequestHead,
  type ResponseFrame,
  type Target,
} from './http2-connection.ts'

export type { Target } from './http2-connection.ts'

export interface Load extends RequestHead {
  /** Returns the body of request `number`. */
  readonly body?: (number: number) => string
  /** Requests in flight at once, over all connections. */
  readonly concurrency: number
  readonly connections: number
  readonly requests: number
}

export interface LoadResult {
  readonly perSecond: number
  readonly bytes: number
}

export async function runLoad(target: Target, load: Load): Promise<LoadResult> {
  const state = { sent: 0, done: 0, bytes: 0 }
  const connections = await Promise.all(
    Array.from({ length: load.connections }, () => LoadConnection.open(target, load, state)),
  )
  const started = performance.now()
  await Promise.all(
    connections.map(connection => connection.run(Math.ceil(load.concurrency / load.connections))),
  )
  const seconds = (performance.now() - started) / 1_000
  for (const connection of connections) connection.close()
  return { perSecond: state.done / seconds, bytes: state.bytes }
}

interface LoadState {
  sent: number
  done: number
  bytes: number
}

class LoadConnection {
  readonly #load: Load
  readonly #state: LoadState
  readonly #block: Buffer
  #connection: Http2Connection | undefined
  #finished = Promise.withResolvers<void>()

  private constructor(load: Load, state: LoadState, block: Buffer) {
    this.#load = load
    this.#state = state
    this.#block = block
  }

  static async open(target: Target, load: Load, state: LoadState): Promise<LoadConnection> {
    const opened = new LoadConnection(load, state, headerBlock(target, load))
    opened.#connection = await Http2Connection.open(target, frame => opened.#take(frame))
    opened.#connection.onError(error => opened.#finished.reject(error))
    return opened
  }

  run(concurrency: number): Promise<void> {
    for (let index = 0; index < concurrency; index++) this.#send()
    if (this.#state.sent >= this.#load.requests) this.#waitForOthers()
    return this.#finished.promise
  }

  close(): void {
    this.#connection?.close()
  }

  #send(): void {
    if (this.#state.sent >= this.#load.requests) return
    const number = this.#state.sent++
    this.#connection?.request(this.#block, this.#load.body && Buffer.from(this.#load.body(number)))
  }

  #take({ data, isLast }: ResponseFrame): void {
    this.#state.bytes += data.length
    if (!isLast) return
    this.#state.done++
    if (this.#state.done === this.#load.requests) this.#finished.resolve()
    else this.#send()
    if (this.#state.sent >= this.#load.requests) this.#waitForOthers()
  }

  /** Polls until all connections are done: the last response may arrive on another connection. */
  #waitForOthers(): void {
    if (this.#state.done >= this.#load.requests) this.#finished.resolve()
    else setTimeout(() => this.#waitForOthers(), 1)
  }
}

/** Returns the body of one response. Rejects if it is a failure. */
export async function fetchOnce(target: Target, request: RequestHead, body?: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  const finished = Promise.withResolvers<void>()
  const connection = await Http2Connection.open(target, ({ data, isLast }) => {
    chunks.push(Buffer.from(data))
    if (isLast) finished.resolve()
  })
  connection.onError(finished.reject)
  connection.request(headerBlock(target, request), body === undefined ? undefined : Buffer.from(body))
  await finished.promise
  connection.close()
  const bytes = Buffer.concat(chunks)
  if (bytes.includes('"status":"Failure"')) throw new Error(`${request.path}: ${bytes.toString()}`)
  return bytes
}
