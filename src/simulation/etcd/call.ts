/**
 * One gRPC call, with its two halves: what the client has received, and what the member may still send. Messages pass
 * from one half to the other through the connection.
 */
import type { GrpcError } from '#/platform/grpc.ts'
import { Queue } from '#/base/queue.ts'

/** The status of a call that has ended. */
export type CallStatus = 'ok' | Error

export interface CallCarrier {
  toMember(arrive: () => void): void
  toHost(arrive: () => void): void
}

/** A member reads requests and cancellations of a call. */
export interface CallHandler {
  receive(message: Uint8Array): void
  cancelled(): void
}

/** Bytes that a member sends before the client has read them, as HTTP/2 flow control allows. */
const windowBytes = 1_048_576

export class Call {
  readonly method: string
  readonly requiresLeader: boolean
  readonly #carrier: CallCarrier
  readonly #endListeners: (() => void)[] = []
  /** Received by the client and not yet read. */
  readonly #inbox = new Queue<Uint8Array>()
  #status: CallStatus | undefined
  #wake: (() => void) | undefined
  /** Sent by the member and not yet read by the client. */
  #unreadBytes = 0
  #handler: CallHandler | undefined
  #onWindow: (() => void) | undefined
  #isClosedAtMember = false

  constructor(options: {
    readonly method: string
    readonly requiresLeader: boolean
    readonly carrier: CallCarrier
  }) {
    this.method = options.method
    this.requiresLeader = options.requiresLeader
    this.#carrier = options.carrier
  }

  // Half of the client.

  get isEnded(): boolean {
    return this.#status !== undefined
  }

  onEnd(listener: () => void): void {
    this.#endListeners.push(listener)
  }

  send(message: Uint8Array): void {
    if (!this.isEnded) this.#carrier.toMember(() => this.#handler?.receive(message))
  }

  /** The next message; undefined when the call has ended well. Throws the error with which it ended. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const [message] = this.#inbox.take(1)
      if (message !== undefined) {
        this.#carrier.toMember(() => this.#acknowledge(message.length))
        return message
      }
      if (this.#status === 'ok') return undefined
      if (this.#status !== undefined) throw this.#status
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }

  /** Ends the call for the client at once; the member learns of it later. */
  end(status: CallStatus): void {
    if (this.isEnded) return
    this.#carrier.toMember(() => this.closeAtMember())
    this.#finish(status)
  }

  /** The connection is gone: nothing can be sent any more. */
  lose(error: GrpcError): void {
    if (!this.isEnded) this.#finish(error)
  }

  // Half of the member.

  /** The client has canceled the call, or its connection is gone. */
  get isClosedAtMember(): boolean {
    return this.#isClosedAtMember
  }

  get hasWindow(): boolean {
    return this.#unreadBytes < windowBytes
  }

  /** Called when the client has read, and the window is open again. */
  set onWindow(listener: () => void) {
    this.#onWindow = listener
  }

  accept(handler: CallHandler): void {
    this.#handler = handler
  }

  respond(message: Uint8Array): void {
    if (this.#isClosedAtMember) return
    this.#unreadBytes += message.length
    this.#carrier.toHost(() => {
      if (this.isEnded) return
      this.#inbox.push(message)
      this.#notify()
    })
  }

  /** Sends the status of the call. */
  close(status: CallStatus): void {
    if (this.#isClosedAtMember) return
    this.#isClosedAtMember = true
    this.#carrier.toHost(() => {
      if (!this.isEnded) this.#finish(status)
    })
  }

  closeAtMember(): void {
    if (this.#isClosedAtMember) return
    this.#isClosedAtMember = true
    this.#handler?.cancelled()
  }

  #acknowledge(bytes: number): void {
    this.#unreadBytes -= bytes
    if (this.hasWindow && !this.#isClosedAtMember) this.#onWindow?.()
  }

  #finish(status: CallStatus): void {
    this.#status = status
    for (const listener of this.#endListeners) listener()
    this.#notify()
  }

  #notify(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
