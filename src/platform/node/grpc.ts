import { isIP } from 'node:net'
import { checkServerIdentity } from 'node:tls'
import * as grpc from '@grpc/grpc-js'
import {
  grpcCodes,
  GrpcError,
  type GrpcCallOptions,
  type GrpcChannel,
  type GrpcChannelOptions,
  type GrpcStream,
  type GrpcTls,
} from '../grpc.ts'

export function connectGrpc(options: GrpcChannelOptions): GrpcChannel {
  return new NodeGrpcChannel(options)
}

type Call = grpc.ClientUnaryCall | DuplexCall
type DuplexCall = grpc.ClientDuplexStream<Uint8Array, Buffer>

class NodeGrpcChannel implements GrpcChannel {
  readonly #clients: readonly grpc.Client[]
  readonly #connectTimeoutMs: number
  /** Index of the target in use. */
  #current = 0
  readonly #calls = new Set<Call>()
  #closed = false

  constructor(options: GrpcChannelOptions) {
    this.#clients = options.targets.map(target => clientOf(options, target))
    this.#connectTimeoutMs = options.connectTimeoutMs ?? connectTimeoutMs
  }

  async unary(method: string, request: Uint8Array, options: GrpcCallOptions = {}): Promise<Uint8Array> {
    const deadline = deadlineOf(options)
    const index = this.#readyTarget() ?? (await this.#connect(deadline, options.signal))
    options.signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const call = this.#clients[index]!.makeUnaryRequest(
      method,
      toBuffer,
      identity,
      request,
      metadataOf(options),
      { deadline },
      (error: grpc.ServiceError | null, response?: Buffer) => {
        if (error) reject(error)
        else resolve(response!)
      },
    )
    try {
      return await this.#track(call, options, promise)
    } catch (error) {
      throw this.#failed(error, index, options)
    }
  }

  stream(method: string, options: GrpcCallOptions = {}): GrpcStream {
    let index: number | undefined
    const start = async (): Promise<DuplexCall> => {
      const deadline = deadlineOf(options)
      index = this.#readyTarget() ?? (await this.#connect(deadline, options.signal))
      options.signal?.throwIfAborted()
      const client = this.#clients[index]!
      const call = client.makeBidiStreamRequest(method, toBuffer, identity, metadataOf(options), { deadline })
      const ended = new Promise<void>(resolve => call.once('status', () => resolve()))
      this.#track(call, options, ended).catch(() => undefined)
      return call
    }
    return new NodeGrpcStream(start(), {
      failed: error => this.#failed(error, index, options),
      abandonTarget: () => this.#avoid(index),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const call of this.#calls) call.cancel()
    for (const client of this.#clients) client.close()
  }

  /** Until the promise settles, the call can be canceled by its signal or by closing the channel. */
  async #track<T>(call: Call, options: GrpcCallOptions, settled: Promise<T>): Promise<T> {
    const cancel = (): void => call.cancel()
    this.#calls.add(call)
    options.signal?.addEventListener('abort', cancel)
    try {
      return await settled
    } finally {
      this.#calls.delete(call)
      options.signal?.removeEventListener('abort', cancel)
    }
  }

  #readyTarget(): number | undefined {
    if (this.#closed) return undefined
    const state = this.#clients[this.#current]!.getChannel().getConnectivityState(true)
    return state === READY ? this.#current : undefined
  }

  /** Tries each target once, in turn, and keeps the first that connects. */
  async #connect(deadline: number, signal: AbortSignal | undefined): Promise<number> {
    const first = this.#current
    for (let step = 0; step < this.#clients.length; step++) {
      const index = (first + step) % this.#clients.length
      if (this.#closed || Date.now() >= deadline) break
      const until = Math.min(deadline, Date.now() + this.#connectTimeoutMs)
      if (!(await abortable(becomesReady(this.#clients[index]!, until), signal))) continue
      if (this.#current === first) this.#current = index
      return index
    }
    const code = this.#closed ? 'cancelled' : Date.now() >= deadline ? 'deadline-exceeded' : 'unavailable'
    if (this.#closed) throw new GrpcError(code, 'the channel was closed', { sent: false })
    const reasons = new Set(
      (await Promise.all(this.#clients.map(connectionFailure))).filter(each => each !== ''),
    )
    const details = ['no target can be reached', ...reasons].join(': ')
    throw new GrpcError(code, details, { sent: false })
  }

  #failed(error: unknown, index: number | undefined, options: GrpcCallOptions): unknown {
    if (options.signal?.aborted) return options.signal.reason
    if (!isServiceError(error)) return error
    const code = grpcCodes[error.code] ?? 'unknown'
    // Servers in Go may report their own deadline as an unknown error, just before the client's expires.
    const isLate = code === 'deadline-exceeded' || error.details === 'context deadline exceeded'
    if (code === 'unavailable' || isLate) this.#avoid(index)
    return new GrpcError(code, error.details, { cause: error, sent: true })
  }

  #avoid(index: number | undefined): void {
    if (index === this.#current) this.#current = (index + 1) % this.#clients.length
  }
}

interface StreamOwner {
  readonly failed: (error: unknown) => unknown
  readonly abandonTarget: () => void
}

class NodeGrpcStream implements GrpcStream {
  readonly #call: Promise<DuplexCall>
  readonly #owner: StreamOwner
  #status: grpc.StatusObject | undefined
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(call: Promise<DuplexCall>, owner: StreamOwner) {
    this.#call = this.#listen(call)
    this.#call.catch(() => undefined)
    this.#owner = owner
  }

  async send(message: Uint8Array): Promise<void> {
    const call = await this.#call.catch(() => undefined)
    if (call === undefined || this.#status !== undefined) return
    await new Promise<void>(resolve => {
      call.once('status', () => resolve())
      call.write(message, () => resolve())
    })
  }

  end(): void {
    this.#call.then(
      call => call.end(),
      () => undefined,
    )
  }

  cancel(): void {
    this.#call.then(
      call => call.cancel(),
      () => undefined,
    )
  }

  abandonTarget(): void {
    this.#owner.abandonTarget()
    this.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const call = await this.#call
    try {
      for (;;) {
        const message = call.read() as Buffer | null
        if (message !== null) yield message
        else if (this.#status === undefined) await this.#change()
        else break
      }
    } finally {
      call.cancel()
    }
    if (this.#failure !== undefined) throw this.#owner.failed(this.#failure)
  }

  async #listen(starting: Promise<DuplexCall>): Promise<DuplexCall> {
    const call = await starting
    const wake = (): void => this.#wake?.()
    call.on('readable', wake)
    call.on('error', error => {
      this.#failure = error
    })
    call.on('status', status => {
      this.#status = status
      wake()
    })
    return call
  }

  async #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }
}

const connectTimeoutMs = 2_000

/** Receive window: the HTTP/2 default of 64 KiB is slow for large lists and watches. */
const windowBytes = 1_048_576

const reconnectDelayMs = { first: 100, most: 2_000 }

function clientOf(options: GrpcChannelOptions, target: string): grpc.Client {
  const serverName = options.tls?.serverName ?? addressOf(target)
  return new grpc.Client(target, credentialsOf(options.tls, serverName), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_channelz': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.initial_reconnect_backoff_ms': reconnectDelayMs.first,
    'grpc.max_reconnect_backoff_ms': reconnectDelayMs.most,
    'grpc.max_receive_message_length': options.receivedBytesMax ?? -1,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': windowBytes,
    ...(options.keepalive && {
      'grpc.keepalive_time_ms': options.keepalive.intervalMs,
      'grpc.keepalive_timeout_ms': options.keepalive.timeoutMs,
    }),
    ...(serverName && { 'grpc.ssl_target_name_override': isIP(serverName) ? noName : serverName }),
    // The default authority would be the socket path, which some servers reject.
    ...(target.startsWith('unix:') && { 'grpc.default_authority': 'localhost' }),
  })
}

/**
 * TLS has no SNI for IP addresses and Node rejects one, but the gRPC library sets it anyway. So it gets this
 * placeholder, and the certificate is verified against the IP address here.
 */
const noName = 'address.invalid'

/** The host of a target if it is an IP address. */
function addressOf(target: string): string | undefined {
  const host = target.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isIP(host) ? host : undefined
}

function credentialsOf(tls: GrpcTls | undefined, serverName: string | undefined): grpc.ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure()
  const verifyOptions: grpc.VerifyOptions = {
    checkServerIdentity: (host, certificate) => checkServerIdentity(serverName ?? host, certificate),
  }
  if (tls.files === undefined)
    return grpc.credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert), verifyOptions)
  const provider = new grpc.experimental.FileWatcherCertificateProvider({
    caCertificateFile: tls.files.ca,
    certificateFile: tls.files.cert,
    privateKeyFile: tls.files.key,
    refreshIntervalMs: tlsFilesRefreshMs,
  })
  return grpc.experimental.createCertificateProviderChannelCredentials(provider, provider, verifyOptions)
}

/** Certificates are renewed long before they expire. */
const tlsFilesRefreshMs = 10_000

function pem(content: Uint8Array | string | undefined): Buffer | null {
  return content === undefined ? null : Buffer.from(content)
}

function metadataOf(options: GrpcCallOptions): grpc.Metadata {
  const metadata = new grpc.Metadata()
  for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value)
  return metadata
}

function deadlineOf(options: GrpcCallOptions): number {
  return options.timeoutMs === undefined ? Infinity : Date.now() + options.timeoutMs
}

const { READY, SHUTDOWN, TRANSIENT_FAILURE } = grpc.connectivityState

async function becomesReady(client: grpc.Client, deadline: number): Promise<boolean> {
  const channel = client.getChannel()
  for (;;) {
    const state = channel.getConnectivityState(true)
    if (state === READY) return true
    if (state === TRANSIENT_FAILURE || state === SHUTDOWN) return false
    const { promise, resolve } = Promise.withResolvers<Error | undefined>()
    channel.watchConnectivityState(state, deadline, resolve)
    if (await promise) return false
  }
}

/**
 * The reason why a target cannot be reached; empty when it is not known. The library tells it only to a call, which
 * fails at once while the connection is broken.
 */
async function connectionFailure(client: grpc.Client): Promise<string> {
  if (client.getChannel().getConnectivityState(false) !== TRANSIENT_FAILURE) return ''
  const { promise, resolve } = Promise.withResolvers<string>()
  const deadline = Date.now() + failureTimeoutMs
  client.makeUnaryRequest('/', toBuffer, identity, new Uint8Array(), { deadline }, error => {
    resolve(/Last error: (?:Error: )?(.+?)\. Resolution note:/s.exec(error?.details ?? '')?.[1] ?? '')
  })
  return promise
}

/** Not reached: the call does not wait for a connection. */
const failureTimeoutMs = 1_000

/** Rejects with the signal's reason if aborted first. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function isServiceError(error: unknown): error is grpc.ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error
}

function toBuffer(message: Uint8Array): Buffer {
  return Buffer.from(message.buffer, message.byteOffset, message.byteLength)
}

function identity(message: Buffer): Buffer {
  return message
}
