/** Hostile or interrupted clients, and servers that disappear: no resources are leaked. */
import assert from 'node:assert/strict'
import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { after, describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ask, certificateOf, webSocket, type RawAnswer } from './raw-upgrade.ts'
import { StreamingCluster } from './streaming-cluster.ts'
import { waitUntil, waitUntilStable } from '../wait-until.ts'

/**
 * Maximum number of bytes buffered for a client that sends without reading; far above the sum of all buffers.
 */
const heldBytesMax = 64 * 1024 * 1024

describe('hostile', async () => {
  const cluster = await StreamingCluster.start({ after }, { limits: { stallTimeoutMs: 400 } })
  const { node, folder } = cluster
  const identity = await certificateOf(cluster, 'kubernetes-admin', ['system:masters'])
  const api = cluster.server.address.port
  const kubelet = cluster.kubelet.address.port
  const pod = await node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
  const path = '/api/v1/namespaces/default/pods/web'
  const exec = `GET ${path}/exec?command=cat&stdin=1&stdout=1`
  const open = async (line: string): Promise<TLSSocket> => {
    const { status, socket, head } = await ask(cluster, { port: api, line, headers: webSocket, identity })
    assert.equal(status, 101, head)
    return socket
  }
  const isQuiet = (): boolean => cluster.server.connectionCount === 0 && cluster.kubelet.connectionCount === 0

  test('an exec client that sends without reading is held back by bounded buffers', async () => {
    const socket = await open(exec)
    socket.pause()
    const frame = clientFrame(Buffer.concat([Buffer.of(0), Buffer.alloc(64 * 1024, 'x')]))
    let sent = 0
    const send = (): void => {
      for (let isWritable = true; isWritable && sent < 2 * heldBytesMax; sent += frame.length) {
        isWritable = socket.write(frame)
      }
    }
    socket.on('drain', send)
    send()
    await waitUntilStable(() => sent)
    assert.ok(sent < heldBytesMax, `${sent} bytes were taken`)
    socket.destroy()
    await waitUntil(isQuiet)
  })

  test('a client that follows a log without reading costs no memory and stays connected', async () => {
    const { socket } = await ask(cluster, { port: api, line: `GET ${path}/log?follow=true`, identity })
    socket.pause()
    const { uid } = pod.metadata
    const file = join(folder, 'node/logs/pods', `default_web_${uid}`, 'main', '0.log')
    const line = `2024-01-01T00:00:00.5Z stdout F ${'x'.repeat(9_999)}\n`
    const { socket: other } = await ask(cluster, { port: api, line: 'GET /openapi/v2', identity })
    const before = held()
    for (let count = 0; count < 100; count++) await appendFile(file, line.repeat(100))
    // A client that reads no response of a finite size is cut off, although it began to stall later.
    const { connectionCount } = cluster.server
    other.pause()
    other.write('GET /openapi/v2 HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(5))
    await waitUntil(() => cluster.server.connectionCount < connectionCount)
    other.destroy()
    await waitUntil(() => held() - before < heldBytesMax)
    assert.equal(node.listenerCount, 1, 'the log is still followed')
    socket.destroy()
    await waitUntil(() => node.listenerCount === 0 && isQuiet())
  })

  test('malformed WebSocket and SPDY frames end their connection only', async () => {
    const garbage = [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(100_000, 0xff),
      Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    ]
    for (const bytes of garbage) {
      const socket = await open(exec)
      socket.write(bytes)
      await waitUntil(() => socket.destroyed)
    }
    // Frames that are well formed and mean nothing are skipped.
    const skipped = [
      clientFrame(Buffer.of(77, 1, 2, 3)),
      clientFrame(Buffer.concat([Buffer.of(4), Buffer.from('{"Width":"x"')])),
      clientFrame(Buffer.alloc(0)),
    ]
    for (const bytes of skipped) {
      const socket = await open(exec)
      let echoed = ''
      socket.on('data', (piece: Buffer) => (echoed += piece.toString('latin1')))
      socket.write(bytes)
      socket.write(clientFrame(Buffer.from('\0marker')))
      await waitUntil(() => echoed.includes('marker'))
      socket.destroy()
    }
    const spdy = {
      'connection': 'Upgrade',
      'upgrade': 'SPDY/3.1',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
    }
    for (const bytes of [Buffer.alloc(100_000, 0xff), Buffer.alloc(100_000), Buffer.from([0x80, 3, 0, 1])]) {
      const line = exec.replace('GET', 'POST')
      const { status, socket } = await ask(cluster, { port: api, line, headers: spdy, identity })
      assert.equal(status, 101)
      socket.write(bytes)
      socket.end()
      await waitUntil(() => socket.destroyed)
    }
    await waitUntil(isQuiet)
    const socket = await open(exec)
    socket.destroy()
  })

  test('the kubelet rejects oversized and malformed requests and keeps serving', async () => {
    const get = async (line: string, headers = {}): Promise<RawAnswer> => {
      const answer = await ask(cluster, { port: kubelet, line, headers, identity })
      answer.socket.destroy()
      return answer
    }
    const { status } = await get('GET /healthz', { 'x-large': 'x'.repeat(200_000) })
    assert.ok(status === 431 || status === 0)
    assert.equal((await get(`GET /containerLogs/default/web/${'x'.repeat(50_000)}`)).status, 404)
    for (const line of [
      'GET /%',
      'GET /pods/../../x',
      'GET //pods',
      'GET /exec/a/b/c/d/e/f',
      'TRACE /pods',
    ]) {
      const answer = await get(line)
      assert.ok(answer.status >= 400 && answer.status < 500, `${line} ${answer.status}`)
    }
    assert.equal((await get('GET /healthz')).body, 'ok')
  })

  test('exec clients that disconnect at any moment leave no connection and no file descriptor', async () => {
    // One pod for each round, because the sessions of a pod are bounded.
    const names = ['web-0', 'web-1', 'web-2', 'web-3']
    for (const name of names) await node.run(name, [{ name: 'main', command: ['sleep', 'infinity'] }])
    const before = (await readdir('/proc/self/fd')).length
    const come = async (name: string, number: number): Promise<void> => {
      const line = exec.replace('/web/', `/${name}/`)
      const { socket } = await ask(cluster, { port: api, line, headers: webSocket, identity })
      for (let turn = 0; turn < number % 7; turn++) await nextTurn()
      if (number % 2 === 0) socket.write(clientFrame(Buffer.of(0, 1, 2, 3)))
      socket.destroy()
    }
    for (const name of names) {
      await Promise.all(Array.from({ length: 25 }, (_, number) => come(name, number)))
    }
    await waitUntil(isQuiet)
    const isBack = async (): Promise<boolean> => (await readdir('/proc/self/fd')).length <= before + 5
    await waitUntil(isBack)
  })

  test('when the kubelet stops, its streams end and new requests fail with 500', async () => {
    const own = await StreamingCluster.start({ after })
    await own.node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
    const identity = await certificateOf(own, 'kubernetes-admin', ['system:masters'])
    const { port } = own.server.address
    const command = await ask(own, { port, line: exec, headers: webSocket, identity })
    const log = await ask(own, { port, line: `GET ${path}/log?follow=true`, identity })
    const ended = [command, log].map(({ socket }) => new Promise(resolve => socket.once('close', resolve)))
    await own.kubelet.stop(0)
    log.socket.resume()
    command.socket.resume()
    let rest = ''
    log.socket.on('data', (piece: Buffer) => (rest += piece.toString('latin1')))
    await waitUntil(() => log.socket.destroyed || rest.endsWith('0\r\n\r\n'))
    log.socket.end()
    await Promise.all(ended)
    const refused = await ask(own, { port, line: exec, headers: webSocket, identity })
    assert.deepEqual([refused.status, /error dialing backend/.test(refused.body)], [500, true])
    const silent = await ask(own, { port, line: `GET ${path}/log`, identity })
    assert.deepEqual([silent.status, /ECONNREFUSED/.test(silent.body)], [500, true])
  })

  test('a stopping API server ends exec sessions and followed logs', async () => {
    const own = await StreamingCluster.start({ after })
    await own.node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
    const identity = await certificateOf(own, 'kubernetes-admin', ['system:masters'])
    const { port } = own.server.address
    await ask(own, { port, line: exec, headers: webSocket, identity })
    await ask(own, { port, line: `GET ${path}/log?follow=true`, identity })
    assert.equal(own.server.connectionCount, 2)
    await own.server.stop(60_000)
    await waitUntil(() => own.server.connectionCount === 0)
    await waitUntil(() => own.kubelet.connectionCount === 0 && own.node.listenerCount === 0)
  })
})

/** A binary WebSocket frame from a client, masked with zeros. */
function clientFrame(payload: Uint8Array): Buffer {
  const { length } = payload
  const size = Buffer.alloc(length < 126 ? 1 : length < 65_536 ? 3 : 9)
  size[0] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (size.length === 3) size.writeUInt16BE(length, 1)
  if (size.length === 9) size.writeBigUInt64BE(BigInt(length), 1)
  return Buffer.concat([Buffer.of(0x82), size, Buffer.alloc(4), payload])
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Without garbage, which an idle process may keep for minutes. */
function held(): number {
  collectGarbage()
  const { external, arrayBuffers, heapUsed } = process.memoryUsage()
  return external + arrayBuffers + heapUsed
}
