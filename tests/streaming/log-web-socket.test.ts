/** Logs over a WebSocket, as used by dashboards. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { ask, certificateOf, webSocket, type RawAnswer } from './raw-upgrade.ts'
import { StreamingCluster } from './streaming-cluster.ts'
import { waitUntil } from '../wait-until.ts'

describe('a log over a WebSocket', async () => {
  const cluster = await StreamingCluster.start({ after })
  const { node } = cluster
  const identity = await certificateOf(cluster, 'kubernetes-admin', ['system:masters'])
  const port = cluster.server.address.port
  await node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
  const open = (protocol: string, query = ''): Promise<RawAnswer> => {
    const { 'sec-websocket-protocol': _other, ...rest } = webSocket
    const headers = protocol === '' ? rest : { ...rest, 'sec-websocket-protocol': protocol }
    const line = `GET /api/v1/namespaces/default/pods/web/log${query}`
    return ask(cluster, { port, line, headers, identity })
  }
  /** The bytes after the response headers until the server closes: data frames and the close frame. */
  const framesOf = async (protocol: string): Promise<string> => {
    const { status, head, body, socket } = await open(protocol)
    assert.equal(status, 101, head)
    let text = body
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1')
    })
    await new Promise(resolve => (socket.closed ? resolve(undefined) : socket.once('close', resolve)))
    return text
  }
  const goodbye = '\x88\x02\x03\xe8'

  for (const [protocol, message] of [
    ['binary.k8s.io', '\x82\x06hello\n'],
    ['', '\x82\x06hello\n'],
    ['base64.binary.k8s.io', '\x81\x08aGVsbG8K'],
  ] as const) {
    test(`a log over a WebSocket is sent and then closed: ${protocol || 'without a protocol'}`, async () => {
      await waitUntil(async () => (await framesOf(protocol)).startsWith(`${message}${goodbye}`))
    })
  }

  test('a log over a WebSocket with an unknown subprotocol is rejected', async () => {
    const { status, body, socket } = await open('v4.channel.k8s.io')
    socket.destroy()
    assert.deepEqual([status, /requested protocol\(s\) are not supported/.test(body)], [403, true])
  })

  test('a followed log over a WebSocket ends with its client and leaves no listener', async () => {
    const { status, socket } = await open('binary.k8s.io', '?follow=true')
    assert.equal(status, 101)
    await waitUntil(() => node.listenerCount === 1)
    socket.destroy()
    await waitUntil(() => node.listenerCount === 0 && cluster.kubelet.connectionCount === 0)
  })

  test('a followed log over a WebSocket ends when the server stops', async () => {
    const own = await StreamingCluster.start({ after })
    await own.node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
    const headers = { ...webSocket, 'sec-websocket-protocol': 'binary.k8s.io' }
    const line = 'GET /api/v1/namespaces/default/pods/web/log?follow=true'
    const { port: at } = own.server.address
    const reader = { port: at, line, headers, identity: await certificateOf(own, 'a', ['system:masters']) }
    assert.equal((await ask(own, reader)).status, 101)
    await own.server.stop(60_000)
    await waitUntil(() => own.server.connectionCount === 0 && own.node.listenerCount === 0)
  })
})
