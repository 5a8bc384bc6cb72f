/**
 * The HTTP/2 connections to one server. A server limits the streams of a connection, and a watch occupies its
 * stream for minutes: when all streams are in use another connection is opened, so that requests do not wait
 * for watches.
 */
import { connect, type ClientHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { HttpClientError, type HttpClientOptions } from '../../http-client.ts'
import { keepAlive, type Liveness } from './keep-alive.ts'
import { connectTls } from './tls.ts'

/** A reserved stream on a connection. */
export interface SessionLease {
  readonly session: ClientHttp2Session
  /** Frees the stream; called once. */
  release(): void
}

interface PooledSession {
  readonly session: ClientHttp2Session
  readonly liveness: Liveness
  streams: number
  /**
   * Undefined, and treated as one, until the server's SETTINGS arrive: a refused request would have to be
   * sent again.
   */
  streamsMax: number | undefined
}

/** Maximum connections to one server; beyond it requests wait until a stream ends. */
const sessionsMax = 64

/** Maximum streams on a connection if the server has no lower limit. */
const streamsMaxUsual = 1_000

/** Receive window of a stream: the HTTP/2 default of 64 KiB is slow for large lists. */
const streamWindowBytes = 1_048_576
const sessionWindowBytes = 8_388_608

/**
 * Past it Node refuses the responses to other requests. It bounds only the bodies that the callers send: what the
 * server sends is bounded by the windows.
 */
const sessionMemoryMb = 4_000

export class SessionPool {
  readonly #options: HttpClientOptions
  readonly #sessions = new Set<PooledSession>()
  readonly #waiting = new Set<() => void>()
  /** One connection is opened at a time, shared by concurrent requests. */
  #connecting: Promise<void> | undefined
  #closed = false

  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  async acquire(signal: AbortSignal | undefined): Promise<SessionLease> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.#closed) throw new HttpClientError('unreachable', 'the client is closed', { sent: false })
      const pooled = this.#withRoom()
      if (pooled) return this.#lease(pooled)
      const isSettling = [...this.#sessions].some(({ streamsMax }) => streamsMax === undefined)
      const makesRoom = !isSettling && this.#sessions.size < sessionsMax
      await abortable(makesRoom ? this.#connect() : this.#change(), signal)
    }
  }

  /** Adds a connection on which HTTP/2 was negotiated. */
  adopt(socket: TLSSocket): void {
    const session = connect(this.#options.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
      maxSessionMemory: sessionMemoryMb,
    })
    const liveness = keepAlive(session, socket, this.#options.keepalive)
    const pooled: PooledSession = { session, liveness, streams: 0, streamsMax: undefined }
    this.#sessions.add(pooled)
    const drop = (): void => {
      this.#sessions.delete(pooled)
      this.#wake()
    }
    session.once('connect', () => session.setLocalWindowSize(sessionWindowBytes))
    session.on('remoteSettings', ({ maxConcurrentStreams }) => {
      pooled.streamsMax = Math.min(maxConcurrentStreams ?? streamsMaxUsual, streamsMaxUsual)
      this.#wake()
    })
    session.once('close', drop)
    // Each stream reports the error to its request.
    session.on('error', () => undefined)
    // An idle connection does not keep the process alive.
    session.unref()
    if (this.#closed) session.destroy()
    this.#wake()
  }

  /** Connections close after their last stream has ended. */
  close(): void {
    this.#closed = true
    for (const { session } of this.#sessions) session.close()
    this.#wake()
  }

  destroy(): void {
    this.close()
    for (const { session } of this.#sessions) session.destroy()
  }

  #withRoom(): PooledSession | undefined {
    for (const pooled of this.#sessions) {
      const { session, streams, streamsMax = 1 } = pooled
      if (!session.closed && !session.destroyed && streams < streamsMax) return pooled
    }
    return undefined
  }

  #lease(pooled: PooledSession): SessionLease {
    const { session, liveness } = pooled
    pooled.streams++
    if (pooled.streams === 1) session.ref()
    liveness.inUse(pooled.streams)
    let released = false
    return {
      session,
      release: () => {
        if (released) return
        released = true
        pooled.streams--
        liveness.inUse(pooled.streams)
        if (pooled.streams === 0 && !session.destroyed) session.unref()
        this.#wake()
      },
    }
  }

  #connect(): Promise<void> {
    this.#connecting ??= connectTls(this.#options, undefined)
      .then(socket => this.adopt(socket))
      .finally(() => {
        this.#connecting = undefined
      })
    return this.#connecting
  }

  #change(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.add(resolve)
    })
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }
}

async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
