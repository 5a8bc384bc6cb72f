import { createSocket } from 'node:dgram'
import { unlink } from 'node:fs/promises'
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type { DatagramSocket, Listener, Network, SocketAddress } from '../platform.ts'

export function nodeNetwork(): Network {
  return { listen, connect, bindDatagram }
}

/** How long a silent connection is left alone before the kernel asks whether the other side is still there. */
const keepAliveDelayMs = 15_000

/** Each direction of a connection ends by itself: who has sent all may still have an answer coming. */
const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: keepAliveDelayMs,
}

async function listen(address: SocketAddress, onConnection: (connection: Duplex) => void): Promise<Listener> {
  const server = createServer(socketOptions, socket => onConnection(surviving(socket)))
  try {
    await startListening(server, address)
  } catch (error) {
    if (!(await isLeftover(address, error))) throw error
    await unlink((address as { path: string }).path)
    await startListening(server, address)
  }
  return {
    address: 'path' in address ? address : hostAndPort(server.address() as AddressInfo),
    // The connections that were accepted belong to whoever got them and go on: their end is not waited for.
    [Symbol.asyncDispose]: async () => {
      if (server.listening) server.close()
    },
  }
}

async function startListening(server: Server, address: SocketAddress): Promise<void> {
  server.listen('path' in address ? { path: address.path } : { host: address.host, port: address.port })
  await once(server, 'listening')
}

/** A process that was killed leaves the file of its unix socket behind: taken by name, with nobody listening. */
async function isLeftover(address: SocketAddress, error: unknown): Promise<boolean> {
  if (!('path' in address) || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return false
  try {
    const connection = await connect(address)
    connection.destroy()
    return false
  } catch (refusal) {
    return (refusal as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  }
}

function connect(address: SocketAddress, signal?: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const socket = createConnection({ ...socketOptions, ...address })
    const abort = () => {
      socket.destroy()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    socket.once('error', error => {
      signal?.removeEventListener('abort', abort)
      reject(error)
    })
    socket.once('connect', () => {
      signal?.removeEventListener('abort', abort)
      resolve(surviving(socket))
    })
  })
}

/**
 * Node ends the process when a socket fails and nobody listens for it. Whoever reads or writes the stream learns of the
 * failure anyway; a peer that hangs up between two readers must not bring everything down.
 */
function surviving(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

async function bindDatagram(
  address: SocketAddress,
  onMessage: (message: Uint8Array, from: SocketAddress) => void,
): Promise<DatagramSocket> {
  if ('path' in address) throw new Error(`cannot bind ${address.path}: datagrams go over UDP only`)
  const socket = createSocket({ type: address.host.includes(':') ? 'udp6' : 'udp4' })
  socket.on('message', (message, from) => onMessage(message, { host: from.address, port: from.port }))
  socket.bind({ address: address.host, port: address.port })
  await once(socket, 'listening')
  // What follows concerns single messages (a port unreachable, a full queue), and messages may be lost.
  socket.on('error', () => undefined)
  let open = true
  return {
    address: hostAndPort(socket.address()),
    send: (message, to) => {
      if (open && 'port' in to) socket.send(message, to.port, to.host, () => undefined)
    },
    [Symbol.asyncDispose]: async () => {
      if (!open) return
      open = false
      socket.close()
    },
  }
}

function hostAndPort(info: AddressInfo): SocketAddress {
  return { host: info.address, port: info.port }
}
