/** Bounds of exec, attach, port-forward and log streams, and sessions that are ended by the kubelet. */
import assert from 'node:assert/strict'
import type { TLSSocket } from 'node:tls'
import { after, test } from 'node:test'
import { ask, certificateOf, webSocket, type RawAnswer } from './raw-upgrade.ts'
import { StreamingCluster, type StreamingClusterOptions } from './streaming-cluster.ts'
import { waitUntil } from '../wait-until.ts'

const path = '/api/v1/namespaces/default/pods/web'
const exec = `GET ${path}/exec?command=cat&stdin=1&stdout=1`

/** A WebSocket message that closes channel 0. */
const closeStdin = Buffer.of(0x82, 0x82, 0, 0, 0, 0, 255, 0)

interface Scene {
  readonly cluster: StreamingCluster
  readonly request: (line: string, headers?: Readonly<Record<string, string>>) => Promise<RawAnswer>
}

async function start(options: StreamingClusterOptions = {}): Promise<Scene> {
  const cluster = await StreamingCluster.start({ after }, options)
  const identity = await certificateOf(cluster, 'kubernetes-admin', ['system:masters'])
  await cluster.node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
  const { port } = cluster.server.address
  return { cluster, request: (line, headers = {}) => ask(cluster, { port, line, headers, identity }) }
}

/** The status code, the Retry-After header and the reason and message of the Status. */
function refusal({ status, head, body }: RawAnswer): readonly unknown[] {
  const { reason, message } = JSON.parse(body) as { reason?: string; message?: string }
  return [status, /^retry-after: (\d+)/im.exec(head)?.[1], reason, message]
}

test('exec sessions and log streams of a pod are bounded, and a refusal is a Status with code 429', async () => {
  const { request } = await start()
  const cases = [
    {
      line: exec,
      headers: webSocket,
      accepted: 101,
      // A session whose client disconnects counts for some seconds more.
      end: (socket: TLSSocket) => socket.write(closeStdin),
      limits: { perPod: 32, perNode: 256 },
      name: 'exec, attach and port-forward sessions',
    },
    {
      line: `GET ${path}/log?follow=true`,
      headers: {},
      accepted: 200,
      end: (socket: TLSSocket) => socket.destroy(),
      limits: { perPod: 64, perNode: 512 },
      name: 'log streams',
    },
  ]
  for (const { line, headers, accepted, end, limits, name } of cases) {
    const sockets: TLSSocket[] = []
    for (let count = 0; count < limits.perPod; count++) {
      const { status, socket } = await request(line, headers)
      assert.equal(status, accepted)
      sockets.push(socket)
    }
    const bounds = `${limits.perPod} per pod and ${limits.perNode} per node are allowed`
    const message = `too many ${name}: ${bounds}, try again later`
    assert.deepEqual(refusal(await request(line, headers)), [429, '1', 'TooManyRequests', message])
    for (const socket of sockets) end(socket)
    await waitUntil(async () => {
      const { status, socket } = await request(line, headers)
      socket.destroy()
      return status === accepted
    })
  }
})

test('an exec session ends with an error when the sandbox of the pod does not respond', async () => {
  const { cluster, request } = await start({ settings: { runtimeRequestTimeoutMs: 20 } })
  const { socket, status } = await request(exec, webSocket)
  assert.equal(status, 101)
  let received = ''
  socket.on('data', (piece: Buffer) => {
    received += piece.toString('latin1')
  })
  cluster.node.isResponding = false
  await waitUntil(() => socket.closed)
  assert.match(received, /the sandbox of the pod does not respond and is killed, try again later/)
})

test('an idle exec session is closed after the idle timeout of the kubelet', async () => {
  const { request } = await start({ settings: { streamingConnectionIdleTimeoutMs: 50 } })
  const { socket, status } = await request(exec, webSocket)
  assert.equal(status, 101)
  await waitUntil(() => socket.closed)
})
