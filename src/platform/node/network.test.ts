import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Duplex } from 'node:stream'
import type { SocketAddress } from '../platform.ts'
import { nodeNetwork } from './network.ts'

const network = nodeNetwork()
const anyPort: SocketAddress = { host: '127.0.0.1', port: 0 }

function temporaryFolder() {
  return mkdtempDisposable(join(tmpdir(), 'k8ts-network-'))
}

/** Reads to the end. Iterating the stream would close the other direction too. */
async function textOf(connection: Duplex): Promise<string> {
  const chunks: Buffer[] = []
  connection.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(connection, 'end')
  return Buffer.concat(chunks).toString()
}

/** Sends the input back after the client has half-closed the connection, which must stay open for it. */
async function echo(connection: Duplex): Promise<void> {
  connection.end(await textOf(connection))
}

test('TCP data arrives, and a half-closed connection receives the response', async () => {
  await using listener = await network.listen(anyPort, connection => void echo(connection))
  const connection = await network.connect(listener.address)
  const question = 'x'.repeat(300_000)
  connection.end(question)
  assert.equal(await textOf(connection), question)
})

test('Unix socket data arrives, and the socket file is removed with the listener', async () => {
  await using folder = await temporaryFolder()
  const address = { path: join(folder.path, 'socket') }
  {
    await using listener = await network.listen(address, connection => void echo(connection))
    assert.deepEqual(listener.address, address)
    const connection = await network.connect(address)
    connection.end('hello')
    assert.equal(await textOf(connection), 'hello')
    await assert.rejects(
      network.listen(address, () => undefined),
      { code: 'EADDRINUSE' },
    )
  }
  assert.deepEqual(await readdir(folder.path), [])
})

test('a Unix socket left by a killed process is replaced', async () => {
  await using folder = await temporaryFolder()
  const address = { path: join(folder.path, 'socket') }
  const path = JSON.stringify(address.path)
  const script = `require('net').createServer().listen(${path}, () => process.kill(process.pid, 'SIGKILL'))`
  assert.equal(spawnSync(process.execPath, ['-e', script]).signal, 'SIGKILL')
  await using listener = await network.listen(address, connection => void echo(connection))
  const connection = await network.connect(listener.address)
  connection.end('again')
  assert.equal(await textOf(connection), 'again')
})

test('an address in use, a port without a listener and a missing path are errors with a code', async () => {
  await using listener = await network.listen(anyPort, () => undefined)
  await assert.rejects(
    network.listen(listener.address, () => undefined),
    { code: 'EADDRINUSE' },
  )
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as { port: number }
  closed.close()
  await assert.rejects(network.connect({ host: '127.0.0.1', port }), { code: 'ECONNREFUSED' })
  await assert.rejects(network.connect({ path: join(tmpdir(), 'k8ts-none') }), { code: 'ENOENT' })
})

test('the port of a closed listener is free at once, though a connection is still open', async () => {
  const accepted = Promise.withResolvers<Duplex>()
  const listener = await network.listen(anyPort, accepted.resolve)
  const connection = await network.connect(listener.address)
  const other = await accepted.promise
  await listener[Symbol.asyncDispose]()
  await using _second = await network.listen(listener.address, () => undefined)
  other.end('still here')
  connection.end()
  assert.equal(await textOf(connection), 'still here')
  other.destroy()
})

test('connecting rejects with the abort reason', async () => {
  const reason = new Error('enough')
  await assert.rejects(network.connect(anyPort, AbortSignal.abort(reason)), reason)
  const controller = new AbortController()
  // An address of the documentation range, which does not answer.
  const connecting = network.connect({ host: '192.0.2.1', port: 9 }, controller.signal)
  controller.abort(reason)
  await assert.rejects(connecting, reason)
})

test('a peer that resets the connection does not end the process', async () => {
  const accepted = Promise.withResolvers<Duplex>()
  await using listener = await network.listen(anyPort, accepted.resolve)
  const connection = await network.connect(listener.address)
  const other = await accepted.promise
  const closed = new Promise(resolve => other.once('close', resolve))
  ;(connection as unknown as { resetAndDestroy(): void }).resetAndDestroy()
  await closed
  assert.ok(other.destroyed)
})

test("datagrams arrive with the sender's address; sending to a closed port is no error", async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const received = Promise.withResolvers<[string, SocketAddress]>()
    await using server = await network.bindDatagram({ host, port: 0 }, (message, from) => {
      received.resolve([Buffer.from(message).toString(), from])
    })
    const client = await network.bindDatagram({ host, port: 0 }, () => undefined)
    client.send(Buffer.from('to nobody'), { host, port: 1 })
    client.send(Buffer.from('hello'), server.address)
    assert.deepEqual(await received.promise, ['hello', client.address])
    await client[Symbol.asyncDispose]()
    client.send(Buffer.from('late'), server.address)
    await client[Symbol.asyncDispose]()
  }
})

test('binding a datagram socket to a used address or a path fails', async () => {
  await using socket = await network.bindDatagram(anyPort, () => undefined)
  await assert.rejects(
    network.bindDatagram(socket.address, () => undefined),
    { code: 'EADDRINUSE' },
  )
  await assert.rejects(
    network.bindDatagram({ path: '/nowhere' }, () => undefined),
    /unix datagram sockets are not supported/,
  )
})
