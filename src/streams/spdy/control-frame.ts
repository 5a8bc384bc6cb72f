/** SPDY control frames (SPDY protocol, draft 3.1, 2.6). */
import { finFlag, version, type ControlFrame } from './frame-parser.ts'
import { SpdyError } from './spdy-error.ts'

/** Headers share one compression stream per connection: every block must be read, in order. */
export type Control =
  | {
      readonly type: 'open' | 'reply' | 'headers'
      readonly streamId: number
      readonly isEnd: boolean
      readonly block: Uint8Array
    }
  | { readonly type: 'reset'; readonly streamId: number; readonly status: number }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'go-away' }
  /** SETTINGS, WINDOW_UPDATE (unused here) and unknown types. */
  | { readonly type: 'ignored' }

export const kinds = { open: 1, reply: 2, reset: 3, ping: 6, goAway: 7, headers: 8 } as const

export const resetStatus = { protocolError: 1, refused: 3, cancel: 5 } as const

export const goAwayStatus = { ok: 0, protocolError: 1 } as const

export function readControl({ kind, flags, payload }: ControlFrame): Control {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length)
  const number = (offset: number): number => {
    if (payload.length < offset + 4) throw new SpdyError('a control frame is too short')
    return view.getUint32(offset)
  }
  const streamId = (): number => number(0) & 0x7fffffff
  const isEnd = (flags & finFlag) !== 0
  switch (kind) {
    case kinds.open:
      // Associated stream, priority and slot are skipped, but must be present.
      number(6)
      return { type: 'open', streamId: streamId(), isEnd, block: payload.subarray(10) }
    case kinds.reply:
      return { type: 'reply', streamId: streamId(), isEnd, block: payload.subarray(4) }
    case kinds.headers:
      return { type: 'headers', streamId: streamId(), isEnd, block: payload.subarray(4) }
    case kinds.reset:
      return { type: 'reset', streamId: streamId(), status: number(4) }
    case kinds.ping:
      return { type: 'ping', id: number(0) }
    case kinds.goAway:
      return { type: 'go-away' }
    default:
      return { type: 'ignored' }
  }
}

/** A control frame with leading 32-bit numbers and optional further bytes. */
export function controlBytes(
  kind: number,
  numbers: readonly number[],
  rest: Uint8Array = new Uint8Array(),
): Uint8Array {
  const frame = Buffer.alloc(8 + numbers.length * 4 + rest.length)
  frame.writeUInt16BE(0x8000 | version, 0)
  frame.writeUInt16BE(kind, 2)
  frame.writeUInt32BE(frame.length - 8, 4)
  for (const [index, number] of numbers.entries()) frame.writeUInt32BE(number, 8 + index * 4)
  frame.set(rest, 8 + numbers.length * 4)
  return frame
}

export function openBytes(streamId: number, block: Uint8Array): Uint8Array {
  return controlBytes(kinds.open, [streamId, 0], Buffer.concat([Uint8Array.of(0, 0), block]))
}

/** Header of a data frame. */
export function dataHead(
  streamId: number,
  length: number,
  { isEnd }: { readonly isEnd: boolean },
): Uint8Array {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(streamId, 0)
  head.writeUInt32BE((isEnd ? finFlag << 24 : 0) | length, 4)
  return head
}
