import { AsyncQueue } from '../connection/async-queue.ts'
import type { ForwardedConnection, PortForwardClient } from '../streams.ts'
import { WebSocketChannels } from '../web-socket/channels.ts'
import type { WebSocket } from '../web-socket.ts'

export interface ChannelPortsOptions {
  readonly socket: WebSocket
  readonly encoding: 'binary' | 'base64'
  readonly ports: readonly number[]
}

/** Legacy protocol: exactly one connection to each port in the request. */
export function forwardChannels({ socket, encoding, ports }: ChannelPortsOptions): PortForwardClient {
  const channels = new WebSocketChannels({ socket, encoding, hasHalfClose: false, count: ports.length * 2 })
  const connections = new AsyncQueue<ForwardedConnection>()
  let openCount = ports.length
  for (const [index, port] of ports.entries()) {
    const data = channels.at(index * 2)
    const error = channels.at(index * 2 + 1)
    // Both channels start with the port number.
    const name = Uint8Array.of(port & 0xff, port >> 8)
    void data.send(name)
    void error.send(name)
    error.resume()
    // The protocol cannot half-close.
    data.once('finish', () => data.destroy())
    data.once('disconnect', () => data.destroy())
    data.once('close', () => {
      openCount--
      if (openCount === 0) void error.sendAll().then(() => socket.close())
    })
    const fail = (message: string): void => {
      void error.send(Buffer.from(message))
      data.destroy()
    }
    connections.push({ port, data, fail })
  }
  void channels.run().finally(() => connections.end())
  return { connections }
}
