/**
 * A minimal HTTP/2 load generator that repeats one request, with so little overhead that the server is what
 * is measured. It implements just enough of the protocol: request frames are encoded once, and responses are
 * counted by their last frame.
 */
import { connect as connectHttp2 } from 'node:http2'
import { connect, type TLSSocket } from 'node:tls'

export interface Target {
  readonly port: number
  readonly ca: string
  readonly cert?: string
  readonly key?: string
}

export interface Load {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
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

const frame = { data: 0, headers: 1, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const
const endStream = 1
const endHeaders = 4
const acknowledge = 1
const windowBytes = 0x3fff_ffff

class LoadConnection {
  readonly #socket: TLSSocket
  readonly #load: Load
  readonly #state: LoadState
  readonly #block: Buffer
  #pending: Buffer = Buffer.alloc(0)
  #streamId = 1
  #received = 0
  #finished = Promise.withResolvers<void>()

  private constructor(socket: TLSSocket, load: Load, state: LoadState, block: Buffer) {
    this.#socket = socket
    this.#load = load
    this.#state = state
    this.#block = block
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('error', error => this.#finished.reject(error))
  }

  static async open(target: Target, load: Load, state: LoadState): Promise<LoadConnection> {
    const { port, ca, cert, key } = target
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca,
      cert,
      key,
      ALPNProtocols: ['h2'],
      servername: 'localhost',
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve)
      socket.once('error', reject)
    })
    socket.setNoDelay(true)
    const connection = new LoadConnection(socket, load, state, headerBlock(load, port))
    const settings = Buffer.alloc(6)
    settings.writeUInt16BE(4, 0)
    settings.writeUInt32BE(windowBytes, 2)
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frameOf(frame.settings, 0, 0, settings),
        frameOf(frame.windowUpdate, 0, 0, uint32(windowBytes - 65_535)),
      ]),
    )
    return connection
  }

  run(concurrency: number): Promise<void> {
    for (let index = 0; index < concurrency; index++) this.#send()
    if (this.#state.sent >= this.#load.requests) this.#waitForOthers()
    return this.#finished.promise
  }

  close(): void {
    this.#socket.destroy()
  }

  #send(): void {
    if (this.#state.sent >= this.#load.requests) return
    const number = this.#state.sent++
    const body = this.#load.body && Buffer.from(this.#load.body(number))
    const flags = body ? endHeaders : endHeaders | endStream
    this.#socket.write(frameOf(frame.headers, flags, this.#streamId, this.#block))
    if (body) this.#socket.write(frameOf(frame.data, endStream, this.#streamId, body))
    this.#streamId += 2
  }

  #take(bytes: Buffer): void {
    const data = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    let offset = 0
    this.#socket.cork()
    while (offset + 9 <= data.length) {
      const length = data.readUIntBE(offset, 3)
      if (offset + 9 + length > data.length) break
      this.#takeFrame(data[offset + 3]!, data[offset + 4]!, data.subarray(offset + 9, offset + 9 + length))
      offset += 9 + length
    }
    this.#socket.uncork()
    this.#pending = data.subarray(offset)
  }

  #takeFrame(type: number, flags: number, payload: Buffer): void {
    if (type === frame.settings && (flags & acknowledge) === 0)
      this.#socket.write(frameOf(frame.settings, acknowledge, 0))
    if (type === frame.ping && (flags & acknowledge) === 0)
      this.#socket.write(frameOf(frame.ping, acknowledge, 0, payload))
    if (type === frame.data) this.#count(payload.length)
    const isLast = (type === frame.data || type === frame.headers) && (flags & endStream) !== 0
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

  #count(bytes: number): void {
    this.#state.bytes += bytes
    this.#received += bytes
    if (this.#received < windowBytes / 4) return
    this.#socket.write(frameOf(frame.windowUpdate, 0, 0, uint32(this.#received)))
    this.#received = 0
  }
}

function frameOf(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(),
): Buffer {
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
function headerBlock({ method = 'GET', path, headers = {} }: Load, port: number): Buffer {
  const fields = {
    ':method': method,
    ':scheme': 'https',
    ':authority': `localhost:${port}`,
    ':path': path,
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

/** Returns the body of one response. */
export async function fetchOnce(target: Target, path: string): Promise<Buffer> {
  const session = connectHttp2(`https://localhost:${target.port}`, {
    ca: target.ca,
    cert: target.cert,
    key: target.key,
  })
  const stream = session.request({ ':path': path })
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
  session.close()
  return Buffer.concat(chunks)
}
