/**
 * A stream between two hosts: two `Duplex` ends. What is written at one end arrives at the other later, whole
 * and in order, until the connection is cut or a host dies. A reader that does not read stops the writer: no
 * more than a window's worth of bytes is under way or unread, and the write that exceeds it is done only when
 * the reader has caught up.
 */
import { Duplex } from 'node:stream'
import { assert } from '#/base/assert.ts'
import type { Life } from './life.ts'
import type { NetworkNode, SimulatedNetwork } from './network.ts'
import { systemError, type World } from './world.ts'

/** Bytes of one direction that are sent and not yet read, before the writer has to wait. */
export const windowBytesMax = 64 * 1_024

export interface Party {
  readonly node: NetworkNode
  readonly life: Life
}

/** Both ends of a new connection. Each belongs to its party's life and ends with it. */
export function connectionPair(wire: Wire, client: Party, server: Party): [Duplex, Duplex] {
  const near = new End(wire, client)
  const far = new End(wire, server)
  near.join(far)
  far.join(near)
  near.track()
  return [near, far]
}

export interface Wire {
  readonly world: World
  readonly network: SimulatedNetwork
  /** How the trace calls the connection. */
  readonly name: string
}

class End extends Duplex {
  readonly #wire: Wire
  readonly #party: Party
  #peer: End | undefined
  /** What has arrived and was not asked for yet; `null` is the end of the stream. */
  readonly #inbox: (Uint8Array | null)[] = []
  #wanted = false
  /** Bytes written here that the peer has not read yet. */
  #outstandingBytes = 0
  /** The write that waits for the window to open. */
  #waiting: (() => void) | undefined
  #saidGoodbye = false
  readonly #forget: (() => void)[] = []

  constructor(wire: Wire, party: Party) {
    super({ allowHalfOpen: true })
    // As on a real platform: who reads or writes learns of a failure anyway, and nobody else has to care.
    this.on('error', () => undefined)
    this.#wire = wire
    this.#party = party
  }

  join(peer: End): void {
    this.#peer = peer
    this.#forget.push(this.#party.life.onEnd(ending => this.#die(ending)))
  }

  /** Lets the network cut the connection; one of the two ends is enough for that. */
  track(): void {
    const nodes = [this.#party.node, this.#other.#party.node] as const
    this.#forget.push(this.#wire.network.track({ nodes, cut: () => this.#cut() }))
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    const { network } = this.#wire
    const [from, to] = [this.#party.node, this.#other.#party.node]
    // Nobody hears from the dead: the write is never done.
    if (this.#party.life.ended) return
    if (network.strikes('cutRate', from, to)) return this.#cut()
    const split = chunk.length > 1 && network.strikes('splitRate', from, to)
    const at = split ? 1 + network.draw('split', { from, to, below: chunk.length - 1 }) : chunk.length
    this.#outstandingBytes += chunk.length
    // Copied, because the writer may use its buffer again.
    this.#send(Uint8Array.from(chunk.subarray(0, at)))
    if (split) this.#send(Uint8Array.from(chunk.subarray(at)))
    if (this.#outstandingBytes <= windowBytesMax) done()
    else this.#waiting = done
  }

  override _final(done: () => void): void {
    this.#sayGoodbye()
    done()
  }

  override _read(): void {
    this.#wanted = true
    this.#flush()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#sayGoodbye()
    this.#leave()
    done(error)
  }

  get #other(): End {
    assert(this.#peer, 'both ends of a connection are made together')
    return this.#peer
  }

  #send(what: Uint8Array | null): void {
    const peer = this.#other
    const { node, life } = peer.#party
    this.#wire.network.sendOrdered(this.#party.node, node, () => life.enter(() => peer.#arrive(what)))
  }

  #arrive(what: Uint8Array | null): void {
    // Data for a socket that is closed is answered with a reset, as TCP does; a goodbye is not.
    if (this.destroyed) return what === null ? undefined : this.#reset(this.#other)
    this.#wire.world.trace.record(this.#party.life.name, `stream ${this.#wire.name} ${what?.length ?? 'end'}`)
    this.#inbox.push(what)
    this.#flush()
  }

  #flush(): void {
    while (this.#wanted) {
      const next = this.#inbox.shift()
      if (next === undefined) return
      // A reader may ask for more while it is being given this, and that must not be forgotten.
      this.#wanted = false
      if (this.push(next)) this.#wanted = true
      if (next !== null) this.#other.#acknowledge(next.length)
    }
  }

  /** The peer has read so many bytes. */
  #acknowledge(bytes: number): void {
    this.#outstandingBytes -= bytes
    const waiting = this.#waiting
    if (waiting === undefined || this.#outstandingBytes > windowBytesMax) return
    this.#waiting = undefined
    this.#party.life.later(0, waiting)
  }

  #sayGoodbye(): void {
    if (this.#saidGoodbye || this.#party.life.ended) return
    this.#saidGoodbye = true
    this.#send(null)
  }

  /** Both ends learn after a moment that the connection is gone. */
  #cut(): void {
    this.#wire.world.trace.record('network', `cut ${this.#wire.name}`)
    this.#reset(this)
    this.#reset(this.#other)
  }

  #reset(end: End): void {
    const { node, life } = end.#party
    this.#wire.network.sendOrdered(this.#party.node, node, () =>
      life.enter(() => {
        if (end.destroyed) return
        end.#saidGoodbye = true
        end.destroy(systemError('ECONNRESET', `connection ${this.#wire.name} was reset`))
      }),
    )
  }

  #die(ending: 'crash' | 'exit'): void {
    this.#leave()
    if (this.destroyed || (this.#saidGoodbye && ending === 'exit')) return
    this.#saidGoodbye = true
    // A kernel that is still there closes the sockets of its dead processes. A crashed one is noticed by its
    // peers when they hear nothing or are told that the connection is unknown; here they are told at once.
    if (ending === 'exit') this.#send(null)
    else this.#reset(this.#other)
  }

  #leave(): void {
    for (const forget of this.#forget.splice(0)) forget()
  }
}
