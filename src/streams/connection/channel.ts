/** One of several streams that share a connection, as a stream of Node's. */
import { Duplex } from 'node:stream'
import type { UnreadBytes } from './unread-bytes.ts'

/** How a channel's bytes get to the other side. */
export interface Carrier {
  /** Resolves when there is room for more. */
  send(bytes: Uint8Array): Promise<void>
  /** Nothing more will be sent. */
  sendEnd(): Promise<void>
  /** Nobody here reads or writes the channel any more. */
  gone(): void
}

export class Channel extends Duplex {
  readonly #unread: UnreadBytes
  readonly #carrier: Carrier
  /** What has come and was not asked for yet. */
  readonly #inbox: Uint8Array[] = []
  #hasArrivedAny = false
  #hasArrivedAll = false
  #isEndPushed = false
  #isEndHeld: () => boolean = () => false
  #isWanted = false
  #isCut = false

  constructor(unread: UnreadBytes, carrier: Carrier) {
    super({ allowHalfOpen: true })
    this.#unread = unread
    this.#carrier = carrier
    // Who reads or writes learns of a failure; unheard it would end the process.
    this.on('error', () => undefined)
  }

  /** The other side has sent something. */
  get hasArrivedAny(): boolean {
    return this.#hasArrivedAny
  }

  /** The other side has sent all. */
  get hasArrivedAll(): boolean {
    return this.#hasArrivedAll
  }

  /** See `cutOff`. */
  get isCutOff(): boolean {
    return this.#isCut
  }

  arrive(bytes: Uint8Array): void {
    if (this.destroyed || this.#hasArrivedAll || bytes.length === 0) return
    this.#hasArrivedAny = true
    this.#inbox.push(bytes)
    this.#unread.add(bytes.length)
    this.#flush()
  }

  arriveEnd(): void {
    this.#hasArrivedAll = true
    this.#flush()
  }

  /** The end is not shown to who reads while this is true: whoever holds it destroys the channel instead. */
  holdEnd(isHeld: () => boolean): void {
    this.#isEndHeld = isHeld
  }

  /** Nobody is at the other side: what came can still be read, what is written from now on is lost. */
  cutOff(): void {
    if (this.#isCut) return
    this.#isCut = true
    this.arriveEnd()
    this.emit('cut-off')
  }

  /** Resolves when there is room for more. Does nothing when nobody can get it. */
  send(bytes: Uint8Array): Promise<void> {
    if (!this.writable || this.#isCut) return Promise.resolve()
    return new Promise(resolve => {
      if (this.write(bytes, () => resolve())) resolve()
    })
  }

  /** Resolves when all that was written is sent, or cannot be. */
  sendAll(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.closed || this.writableFinished) resolve()
    this.once('close', resolve).once('finish', resolve)
    this.end()
    return promise
  }

  /** What comes, to its end. Leaves the way back open; whoever stops reading wants nothing of the rest. */
  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const piece of this.iterator({ destroyOnReturn: false })) yield piece as Uint8Array
    } finally {
      this.resume()
    }
  }

  override _read(): void {
    this.#isWanted = true
    this.#flush()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    if (this.#isCut) return done()
    void settle(this.#carrier.send(chunk), done)
  }

  override _final(done: (error?: Error) => void): void {
    if (this.#isCut) return done()
    void settle(this.#carrier.sendEnd(), done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const { length } of this.#inbox.splice(0)) this.#unread.release(length)
    this.#carrier.gone()
    done(error)
  }

  #flush(): void {
    while (this.#isWanted && !this.destroyed) {
      const next = this.#inbox.shift()
      if (next === undefined) break
      // Pushing may ask for more at once, and that must not be forgotten.
      this.#isWanted = false
      if (this.push(next)) this.#isWanted = true
      this.#unread.release(next.length)
    }
    if (!this.#hasArrivedAll || this.#isEndPushed || this.#inbox.length > 0 || this.destroyed) return
    if (this.#isEndHeld()) return
    this.#isEndPushed = true
    this.push(null)
  }
}

/** Tells a callback of Node's how a promise ended. */
export async function settle(promise: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await promise
  } catch (error) {
    return done(error as Error)
  }
  done()
}
