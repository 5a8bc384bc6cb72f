/**
 * Splits a byte stream into WebSocket frames (RFC 6455, 5.2). Pure parser without connection state or clock.
 */
import { WebSocketError } from './web-socket-error.ts'

export type WebSocketEvent = MessagePiece | ControlFrame

/** Messages are delivered in one or more pieces of any size; the first and the last may be empty. */
export interface MessagePiece {
  readonly type: 'message'
  readonly isText: boolean
  readonly bytes: Uint8Array
  readonly isFirst: boolean
  readonly isLast: boolean
}

export interface ControlFrame {
  readonly type: 'close' | 'ping' | 'pong'
  readonly bytes: Uint8Array
}

/** Same limit as Kubernetes' servers. Messages are streamed, not buffered. */
export const messageBytesMax = 32 * 1024 * 1024

const controlBytesMax = 125

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const controls = new Map<number, ControlFrame['type']>([
  [opcodes.close, 'close'],
  [opcodes.ping, 'ping'],
  [opcodes.pong, 'pong'],
])

/** Frame being received. */
interface Frame {
  readonly opcode: number
  readonly isFinal: boolean
  readonly key: Uint8Array | undefined
  readonly lengthBytes: number
  /** Payload bytes received. */
  seenBytes: number
}

export class FrameParser {
  /** Frames of clients are masked, frames of servers are not (RFC 6455, 5.1). */
  readonly #isMasked: boolean
  /** Incomplete frame header. */
  #head: Uint8Array = new Uint8Array()
  #frame: Frame | undefined
  /** Payload of a control frame, which can be interleaved with a message. */
  #control: Uint8Array[] = []
  /** Message with missing frames. */
  #message: { readonly isText: boolean; sizeBytes: number; isBegun: boolean } | undefined

  constructor({ isMasked }: { readonly isMasked: boolean }) {
    this.#isMasked = isMasked
  }

  /**
   * Throws WebSocketError on protocol violations. Modifies the chunk in place; pieces refer to its memory.
   */
  *parse(chunk: Uint8Array): Generator<WebSocketEvent, void, undefined> {
    let rest = chunk
    for (;;) {
      if (this.#frame === undefined) {
        const head = joined(this.#head, rest)
        const headBytes = headLength(head)
        if (head.length < headBytes) {
          this.#head = Uint8Array.from(head)
          return
        }
        rest = rest.subarray(headBytes - this.#head.length)
        this.#head = new Uint8Array()
        this.#frame = this.#begin(head)
      }
      const frame = this.#frame
      const bytes = unmask(frame, rest)
      rest = rest.subarray(bytes.length)
      const isWhole = frame.seenBytes === frame.lengthBytes
      if (isWhole) this.#frame = undefined
      if (bytes.length > 0 || isWhole) yield* this.#take(frame, bytes, isWhole)
      if (rest.length === 0) return
    }
  }

  #begin(head: Uint8Array): Frame {
    const [first = 0, second = 0] = head
    if ((first & 0x70) !== 0) throw new WebSocketError(1002, 'a reserved bit is set')
    const isFinal = (first & 0x80) !== 0
    const opcode = first & 0x0f
    const isMasked = (second & 0x80) !== 0
    if (isMasked !== this.#isMasked)
      throw new WebSocketError(1002, `a frame is ${isMasked ? '' : 'not '}masked`)
    const lengthBytes = payloadLength(head)
    if (controls.has(opcode)) {
      if (!isFinal || lengthBytes > controlBytesMax)
        throw new WebSocketError(1002, 'control frame is fragmented or too long')
    } else {
      this.#expect(opcode, lengthBytes)
    }
    const key = isMasked ? head.slice(headLength(head) - 4, headLength(head)) : undefined
    return { opcode, isFinal, key, lengthBytes, seenBytes: 0 }
  }

  /** Throws if a data frame is not allowed here. */
  #expect(opcode: number, lengthBytes: number): void {
    if (opcode === opcodes.continuation) {
      if (this.#message === undefined) throw new WebSocketError(1002, 'unexpected continuation frame')
    } else if (opcode === opcodes.text || opcode === opcodes.binary) {
      if (this.#message !== undefined) throw new WebSocketError(1002, 'expected a continuation frame')
      this.#message = { isText: opcode === opcodes.text, sizeBytes: 0, isBegun: false }
    } else {
      throw new WebSocketError(1002, `unknown opcode ${opcode}`)
    }
    this.#message.sizeBytes += lengthBytes
    if (this.#message.sizeBytes > messageBytesMax) throw new WebSocketError(1009, 'a message is too large')
  }

  *#take(frame: Frame, bytes: Uint8Array, isWhole: boolean): Generator<WebSocketEvent, void, undefined> {
    const control = controls.get(frame.opcode)
    if (control !== undefined) {
      this.#control.push(bytes)
      if (!isWhole) return
      yield { type: control, bytes: Uint8Array.from(Buffer.concat(this.#control.splice(0))) }
      return
    }
    const message = this.#message!
    const isLast = isWhole && frame.isFinal
    const isFirst = !message.isBegun
    if (bytes.length === 0 && !isLast) return
    message.isBegun = true
    if (isLast) this.#message = undefined
    yield { type: 'message', isText: message.isText, bytes, isFirst, isLast }
  }
}

/** Length of a frame header, or a lower bound while it is incomplete. */
function headLength(head: Uint8Array): number {
  if (head.length < 2) return 2
  const length = head[1]! & 0x7f
  const isMasked = (head[1]! & 0x80) !== 0
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (isMasked ? 4 : 0)
}

function payloadLength(head: Uint8Array): number {
  const view = new DataView(head.buffer, head.byteOffset)
  const length = head[1]! & 0x7f
  if (length === 126) return view.getUint16(2)
  if (length < 126) return length
  if (view.getUint32(2) > 0) throw new WebSocketError(1009, 'a frame is too large')
  return view.getUint32(6)
}

/** Unmasked payload of the frame at the start of `rest`. */
function unmask(frame: Frame, rest: Uint8Array): Uint8Array {
  const { key, seenBytes } = frame
  const bytes = rest.subarray(0, frame.lengthBytes - seenBytes)
  frame.seenBytes += bytes.length
  if (key !== undefined) applyMask(bytes, key, seenBytes)
  return bytes
}

/** Masks or unmasks: XOR with the key. */
export function applyMask(bytes: Uint8Array, key: Uint8Array, offset = 0): void {
  for (let index = 0; index < bytes.length; index++) bytes[index]! ^= key[(offset + index) & 3]!
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other
  // A frame header is at most 14 bytes long.
  return Buffer.concat([one, other.subarray(0, 14)])
}
