/**
 * A minimal HTTP/2 client connection with so little overhead that the server is what is measured. It implements just
 * enough of the protocol: request headers are encoded once, and the caller counts the frames of the responses.
 */
import { connect, type TLSSocket } from 'node:tls'

/** A server on this machine. */
export interface Target {
  readonly port: number
  readonly ca: string
  readonly cert?: string
  readonly key?: string
  /** Sent as bearer token. */
  readonly token?: string
}

export interface RequestHead {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A frame of a response. */
export interface ResponseFrame {
  readonly streamId: number
  /** Empty for headers. */
  readonly data: Buffer
  readonly isLast: boolean
}

const frame = { data: 0, headers: 1, settings: 4, ping: 6, windowUpdate: 8 } as const
const endStream = 1
const endHeaders = 4
const acknowledge = 1
const windowBytes = 0x3fff_ffff
const nothing = Buffer.alloc(0)

export class Http2Connection {
  readonly #socket: TLSSocket
  readonly #onFrame: (frame: ResponseFrame) => void
  #pending: Buffer = nothing
  #streamId = 1
  #received = 0

  private constructor(socket: TLSSocket, onFrame: (frame: ResponseFrame) => void) {
    this.#socket = socket
    this.#onFrame = onFrame
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
  }

  static async open(
    { port, ca, cert, key }: Target,
    onFrame: (frame: ResponseFrame) => void,
  ): Promise<Http2Connection> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca,
      cert,
      key,
      ALPNProtocols: ['h2'],
      servername: 'kubernetes',
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve)
      socket.once('error', reject)
    })
    socket.setNoDelay(true)
    const settings = Buffer.alloc(6)
    settings.writeUInt16BE(4, 0)
    settings.writeUInt32BE(windowBytes, 2)
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frameOf(frame.settings, settings),
        frameOf(frame.windowUpdate, uint32(windowBytes - 65_535)),
      ]),
    )
    return new Http2Connection(socket, onFrame)
  }

  onError(callback: (error: Error) => void): void {
    this.#socket.on('error', callback)
  }

  /** `block` is made by `headerBlock`. */
  request(block: Buffer, body?: Buffer): void {
    const streamId = this.#streamId
    this.#streamId += 2
    const flags = body ? endHeaders : endHeaders | endStream
    this.#socket.write(frameOf(frame.headers, block, { flags, streamId }))
    if (body) this.#socket.write(frameOf(frame.data, body, { flags: endStream, streamId }))
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    const data = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    let offset = 0
    this.#socket.cork()
    while (offset + 9 <= data.length) {
      const length = data.readUIntBE(offset, 3)
      if (offset + 9 + length > data.length) break
      const [type, flags] = [data[offset + 3]!, data[offset + 4]!]
      const streamId = data.readUInt32BE(offset + 5)
      this.#takeFrame({ type, flags, streamId }, data.subarray(offset + 9, offset + 9 + length))
      offset += 9 + length
    }
    this.#socket.uncork()
    this.#pending = data.subarray(offset)
  }

  #takeFrame({ type, flags, streamId }: FrameHead, payload: Buffer): void {
    const isAcknowledged = (flags & acknowledge) !== 0
    if (type === frame.settings && !isAcknowledged)
      this.#socket.write(frameOf(frame.settings, nothing, { flags: acknowledge }))
    if (type === frame.ping && !isAcknowledged)
      this.#socket.write(frameOf(frame.ping, payload, { flags: acknowledge }))
    if (type !== frame.data && type !== frame.headers) return
    const isData = type === frame.data
    if (isData) this.#openWindow(payload.length)
    this.#onFrame({ streamId, data: isData ? payload : nothing, isLast: (flags & endStream) !== 0 })
  }

  #openWindow(receivedBytes: number): void {
    this.#received += receivedBytes
    if (this.#received < windowBytes / 4) return
    this.#socket.write(frameOf(frame.windowUpdate, uint32(this.#received)))
    this.#received = 0
  }
}

interface FrameHead {
  readonly type: number
  readonly flags: number
  readonly streamId: number
}

function frameOf(type: number, payload: Uint8Array, { flags = 0, streamId = 0 } = {}): Buffer {
  const bytes = Buffer.alloc(9 + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(streamId, 5)
  bytes.set(payload, 9)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value, 0)
  return bytes
}

/** Encodes headers as HPACK literals without indexing, so that no dynamic table is needed. */
export function headerBlock({ port, token }: Target, { method = 'GET', path, headers }: RequestHead): Buffer {
  const fields = {
    ':method': method,
    ':scheme': 'https',
    ':authority': `localhost:${port}`,
    ':path': path,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  }
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  )
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const rest = bytes.length - 127
  const length = rest < 128 ? [127, rest] : [127, (rest & 127) | 128, rest >> 7]
  return Buffer.concat([Buffer.from(length), bytes])
}
