/** Splits a byte stream into SPDY/3.1 frames. Pure parser without stream state or clock. */
import { SpdyError } from './spdy-error.ts'

export type SpdyPiece = DataPiece | ControlFrame

/** Data frames are delivered in one or more pieces of any size. */
export interface DataPiece {
  readonly type: 'data'
  readonly streamId: number
  readonly bytes: Uint8Array
  /** Last data of this stream (FIN). */
  readonly isEnd: boolean
}

export interface ControlFrame {
  readonly type: 'control'
  readonly kind: number
  readonly flags: number
  readonly payload: Uint8Array
}

/** Control frames are buffered; larger ones are rejected. */
const controlBytesMax = 64 * 1024

const headBytes = 8
export const version = 3
export const finFlag = 1

interface Frame {
  /** Data frames only. */
  readonly streamId?: number
  /** Control frames only. */
  readonly kind?: number
  readonly flags: number
  readonly lengthBytes: number
  seenBytes: number
}

export class SpdyFrameParser {
  #head: Uint8Array = new Uint8Array()
  readonly #payload: Uint8Array[] = []
  #frame: Frame | undefined;

  /** Throws SpdyError on protocol violations. Pieces refer to the chunk's memory. */
  *parse(chunk: Uint8Array): Generator<SpdyPiece, void, undefined> {
    let rest = chunk
    for (;;) {
      if (this.#frame === undefined) {
        const missing = headBytes - this.#head.length
        const head = Buffer.concat([this.#head, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        this.#head = head
        if (head.length < headBytes) return
        this.#head = new Uint8Array()
        this.#frame = begin(head)
      }
      const frame = this.#frame
      const bytes = rest.subarray(0, frame.lengthBytes - frame.seenBytes)
      rest = rest.subarray(bytes.length)
      frame.seenBytes += bytes.length
      const isWhole = frame.seenBytes === frame.lengthBytes
      if (isWhole) this.#frame = undefined
      const piece = this.#take(frame, bytes, isWhole)
      if (piece !== undefined) yield piece
      if (rest.length === 0) return
    }
  }

  #take(frame: Frame, bytes: Uint8Array, isWhole: boolean): SpdyPiece | undefined {
    const { streamId, kind = 0, flags } = frame
    if (streamId !== undefined) {
      if (bytes.length === 0 && !isWhole) return undefined
      return { type: 'data', streamId, bytes, isEnd: isWhole && (flags & finFlag) !== 0 }
    }
    if (bytes.length > 0) this.#payload.push(bytes)
    if (!isWhole) return undefined
    return { type: 'control', kind, flags, payload: Buffer.concat(this.#payload.splice(0)) }
  }
}

function begin(head: Buffer): Frame {
  const flags = head[4]!
  const lengthBytes = head.readUIntBE(5, 3)
  if ((head[0]! & 0x80) === 0) {
    const streamId = head.readUInt32BE(0)
    if (streamId === 0) throw new SpdyError('data frame for stream 0')
    return { streamId, flags, lengthBytes, seenBytes: 0 }
  }
  if ((head.readUInt16BE(0) & 0x7fff) !== version) throw new SpdyError('unsupported SPDY version')
  if (lengthBytes > controlBytesMax) throw new SpdyError('a control frame is too large')
  return { kind: head.readUInt16BE(2), flags, lengthBytes, seenBytes: 0 }
}
