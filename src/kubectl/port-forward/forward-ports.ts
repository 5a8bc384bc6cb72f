import type { Duplex } from 'node:stream'
import { messageOf } from '#/base/message-of.ts'
import { untilAborted } from '#/base/abort.ts'
import type { Listener } from '#/platform/platform.ts'
import type { OpenedPort } from '#/streams/port-forward-client.ts'
import { connectRemotePortForward, type RemotePortForward } from '#/streams/remote-port-forward.ts'
import { UpgradeRefusedError } from '#/streams/upgrade-refused-error.ts'
import { refusalOf } from '../exec/open-session.ts'
import type { Factory } from '../factory.ts'
import { describeListenError, formatAddress, type ListenAddress } from './listen-addresses.ts'
import type { ForwardedPort } from './plan-ports.ts'

export interface ForwardPortsOptions {
  readonly namespace: string
  readonly pod: string
  readonly ports: readonly ForwardedPort[]
  readonly addresses: readonly ListenAddress[]
  /** Ends forwarding. */
  readonly signal: AbortSignal
}

/** Forwards until aborted. Rejects when the connection to the pod is lost. */
export async function forwardPorts(factory: Factory, options: ForwardPortsOptions): Promise<void> {
  await using remote = await connect(factory, options)
  await using listeners = new AsyncDisposableStack()
  const forwarding = new Forwarding(factory, { ...options, remote, listeners })
  let isListening = false
  for (const port of options.ports) {
    try {
      await forwarding.listen(port)
      isListening = true
    } catch (error) {
      factory.machine.streams.stderr.write(`Unable to listen on port ${port.local}: ${messageOf(error)}\n`)
    }
  }
  if (!isListening) {
    const given = options.ports.map(({ local, remote: port }) => `{${local} ${port}}`).join(' ')
    throw new Error(`unable to listen on any of the requested ports: [${given}]`)
  }
  const lost = Promise.race([remote.closed, forwarding.failed]).then(() => {
    throw new Error('lost connection to pod')
  })
  await Promise.race([untilAborted(options.signal), lost])
}

async function connect(
  factory: Factory,
  { namespace, pod }: ForwardPortsOptions,
): Promise<RemotePortForward> {
  const { http } = await factory.connection()
  const { clock, random } = factory.machine.platform
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`
  const webSocket = factory.machine.environment['KUBECTL_PORT_FORWARD_WEBSOCKETS'] !== 'false'
  try {
    return await connectRemotePortForward({ http, clock, random, path, webSocket })
  } catch (error) {
    if (!(error instanceof UpgradeRefusedError)) throw error
    throw new Error(`error upgrading connection: ${refusalOf(error).message}`, { cause: error })
  }
}

interface ForwardingOptions extends ForwardPortsOptions {
  readonly remote: RemotePortForward
  readonly listeners: AsyncDisposableStack
}

class Forwarding {
  readonly #factory: Factory
  readonly #options: ForwardingOptions
  readonly #failed = Promise.withResolvers<void>()

  constructor(factory: Factory, options: ForwardingOptions) {
    this.#factory = factory
    this.#options = options
  }

  /** Resolves when a connection has failed, which ends all forwarding, as upstream does. */
  get failed(): Promise<void> {
    return this.#failed.promise
  }

  /** Rejects if the addresses cannot be listened on. A free port is the same one on all addresses. */
  async listen({ local, remote }: ForwardedPort): Promise<void> {
    const { addresses } = this.#options
    const errors: string[] = []
    const failed: ListenAddress[] = []
    let port = local
    for (const address of addresses) {
      try {
        port = await this.#listenOn({ host: address.host, port }, remote)
      } catch (error) {
        failed.push(address)
        const network = address.host.includes(':') ? 'tcp6' : 'tcp4'
        const reason = describeListenError({ host: address.host, port }, error)
        errors.push(`unable to create listener: Error listen ${network} ${reason}`)
      }
    }
    const optional = addresses.filter(({ isOptional }) => isOptional)
    const isLocalhostMissing = optional.length > 0 && optional.every(address => failed.includes(address))
    if (isLocalhostMissing || failed.some(({ isOptional }) => !isOptional)) {
      throw new Error(`Listeners failed to create with the following errors: [${errors.join(' ')}]`)
    }
  }

  /** Returns the port. */
  async #listenOn(
    address: { readonly host: string; readonly port: number },
    remote: number,
  ): Promise<number> {
    const { platform, streams } = this.#factory.machine
    const listener: Listener = await platform.network.listen(address, connection => {
      void this.#forward(connection, { local: port, remote })
    })
    this.#options.listeners.use(listener)
    const port = 'port' in listener.address ? listener.address.port : address.port
    streams.write(`Forwarding from ${formatAddress({ host: address.host, port })} -> ${remote}\n`)
    return port
  }

  async #forward(connection: Duplex, { local, remote }: ForwardedPort): Promise<void> {
    const { streams } = this.#factory.machine
    streams.write(`Handling connection for ${local}\n`)
    try {
      join(connection, await this.#options.remote.open(remote), error => this.#fail({ local, remote }, error))
    } catch (error) {
      connection.destroy()
      this.#fail({ local, remote }, error)
    }
  }

  #fail({ local, remote }: ForwardedPort, error: unknown): void {
    const { streams } = this.#factory.machine
    streams.stderr.write(`an error occurred forwarding ${local} -> ${remote}: ${messageOf(error)}\n`)
    this.#failed.resolve()
  }
}

/** Copies in both directions until the pod has sent everything. */
function join(connection: Duplex, { data, failure }: OpenedPort, onError: (error: Error) => void): void {
  connection.pipe(data)
  data.pipe(connection)
  data.once('end', () => {
    // What the client still sends is dropped: nothing reads it. The server then tells whether the connection was good.
    connection.unpipe(data)
    connection.resume()
    data.end()
  })
  let hasFailed = false
  const fail = (error: Error): void => {
    connection.destroy()
    data.destroy()
    if (!hasFailed) onError(error)
    hasFailed = true
  }
  data.on('error', fail)
  // The failure comes on a stream of its own, also after that of the data has ended.
  void failure.then(text => {
    if (text !== '') fail(new Error(text))
  })
  data.once('close', () => {
    if (!data.readableEnded) connection.destroy()
  })
  connection.once('close', () => data.destroy())
}
