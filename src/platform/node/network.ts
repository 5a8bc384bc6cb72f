import { unlink } from 'node:fs/promises'
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type { DatagramSocket, Listener, Network, OnConnection, SocketAddress } from '../platform.ts'

export function nodeNetwork(): Network {
  return { listen, connect, bindDatagram }
}

/** Idle time before the kernel sends TCP keepalive probes. */
const keepAliveDelayMs = 15_000

/** Half-open connections are allowed: a peer that has sent everything may still wait for the response. */
const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: keepAliveDelayMs,
}

async function listen(address: SocketAddress, onConnection: OnConnection): Promise<Listener> {
  const server = createServer(socketOptions, socket => {
    onConnection(ignoringErrors(socket), socket.remoteAddress ?? '')
  })
  try {
    await startListening(server, address)
  } catch (error) {
    if (!(await isLeftover(address, error))) throw error
    await unlink((address as { path: string }).path)
    await startListening(server, address)
  }
  return {
    address: 'path' in address ? address : hostAndPort(server.address() as AddressInfo),
    // Accepted connections belong to their receivers and stay open; they are not waited for.
    [Symbol.asyncDispose]: async () => {
      if (server.listening) server.close()
    },
  }
}

async function startListening(server: Server, address: SocketAddress): Promise<void> {
  server.listen('path' in address ? { path: address.path } : { host: address.host, port: address.port })
  await once(server, 'listening')
}

/** A killed process leaves its unix socket file behind: the path exists, but nothing listens on it. */
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
      resolve(ignoringErrors(socket))
    })
  })
}

/**
 * Node ends the process on a socket error without a listener. Readers and writers of the stream get the error
 * anyway; a peer that disconnects between two readers must not end the process.
 */
function ignoringErrors(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

async function bindDatagram(
  address: SocketAddress,
  onMessage: (message: Uint8Array, from: SocketAddress) => void,
): Promise<DatagramSocket> {
  if ('path' in address)
    throw new Error(`cannot bind ${address.path}: unix datagram sockets are not supported`)
  const { createSocket } = await import('node:dgram')
  const socket = createSocket({ type: address.host.includes(':') ? 'udp6' : 'udp4' })
  socket.on('message', (message, from) => onMessage(message, { host: from.address, port: from.port }))
  socket.bind({ address: address.host, port: address.port })
  await once(socket, 'listening')
  // Later errors concern single datagrams (port unreachable, full queue), which may be lost anyway.
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
