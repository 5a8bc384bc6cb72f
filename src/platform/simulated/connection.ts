/**
 * A stream between two hosts as two `Duplex` ends. Bytes written at one end arrive at the other later,
 * complete and in order, until the connection is cut or a host dies. Backpressure: at most one window of
 * bytes is in flight or unread, and a write that exceeds it completes only after the reader has caught up.
 */
import { Duplex } from 'node:stream'
import { assert } from '#/base/assert.ts'
import type { Life } from './life.ts'
import type { NetworkNode, SimulatedNetwork } from './network.ts'
import { systemError, type World } from './world.ts'

/** Maximum bytes of one direction in flight or unread before the writer has to wait. */
export const windowBytesMax = 64 * 1_024

export interface Party {
  readonly node: NetworkNode
  readonly life: Life
}

/** Both ends of a new connection. Each ends with the life of its party. */
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
  /** Name of the connection in the trace. */
  readonly name: string
}

class End extends Duplex {
  readonly #wire: Wire
  readonly #party: Party
  #peer: End | undefined
  /** Received but not yet read; `null` is the end of the stream. */
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
    // As on a real platform: readers and writers get the error; without a listener it would end the process.
    this.on('error', () => undefined)
    this.#wire = wire
    this.#party = party
  }

  join(peer: End): void {
    this.#peer = peer
    this.#forget.push(this.#party.life.onEnd(ending => this.#die(ending)))
  }

  /** Registers the connection with the network, which can then cut it; called for one of the two ends. */
  track(): void {
    const nodes = [this.#party.node, this.#other.#party.node] as const
    this.#forget.push(this.#wire.network.track({ nodes, cut: () => this.#cut() }))
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    const { network } = this.#wire
    const [from, to] = [this.#party.node, this.#other.#party.node]
    // A dead life sends nothing: the write never completes.
    if (this.#party.life.ended) return
    if (network.strikes('cutRate', from, to)) return this.#cut()
    const split = chunk.length > 1 && network.strikes('splitRate', from, to)
    const at = split ? 1 + network.draw('split', { from, to, below: chunk.length - 1 }) : chunk.length
    this.#outstandingBytes += chunk.length
    // Copied, because the writer may reuse its buffer.
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
    // Data for a closed socket is answered with a reset, as in TCP; an end of stream is not.
    if (this.destroyed) return what === null ? undefined : this.#reset(this.#other)
    this.#wire.world.trace.record(this.#party.life.name, `stream ${this.#wire.name} ${what?.length ?? 'end'}`)
    this.#inbox.push(what)
    this.#flush()
  }

  #flush(): void {
    while (this.#wanted) {
      const next = this.#inbox.shift()
      if (next === undefined) return
      // Reset before pushing, because a reader may request more during the push.
      this.#wanted = false
      if (this.push(next)) this.#wanted = true
      if (next !== null) this.#other.#acknowledge(next.length)
    }
  }

  /** The peer has read this many bytes. */
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

  /** Both ends get an error after a delay. */
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
    // After an exit the kernel closes the sockets of the process. After a crash real peers notice only by a
    // timeout or a reset; here they get the reset immediately.
    if (ending === 'exit') this.#send(null)
    else this.#reset(this.#other)
  }

  #leave(): void {
    for (const forget of this.#forget.splice(0)) forget()
  }
}
