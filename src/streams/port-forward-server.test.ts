import assert from 'node:assert/strict'
import { duplexPair, type Duplex } from 'node:stream'
import { test } from 'node:test'
import type { HttpConnect } from '#/platform/http-client.ts'
import { nodePlatform } from '#/platform/node.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { connectPortForward } from './port-forward-client.ts'
import { acceptPortForward, type AcceptPortForwardOptions } from './port-forward-server.ts'
import { runPortForward } from './run-port-forward.ts'
import { SpdyConnection } from './spdy.ts'
import { upgradeInMemory } from './testdata/upgrade-in-memory.ts'
import { WebSocketTunnel } from './web-socket-tunnel.ts'
import { WebSocket } from './web-socket.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })
const url = 'http://kubelet/portForward/default/web'

interface Served {
  readonly connectHttp: HttpConnect
  /** Pod ends of the connections, by port. */
  readonly pods: Map<number, Duplex>
  /** Resolves when the client has disconnected and everything is closed. */
  readonly ended: Promise<void>
}

/** Port 9999 refuses connections. */
function serve(options: Partial<AcceptPortForwardOptions> = {}): Served {
  const pods = new Map<number, Duplex>()
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const connect = async (port: number): Promise<Duplex> => {
    if (port === 9999) throw new Error('connection refused')
    const [near, far] = duplexPair()
    for (const end of [near, far]) end.on('error', () => undefined)
    pods.set(port, far)
    return near
  }
  const connectHttp = upgradeInMemory(
    (exchange, query) =>
      void (async () => {
        const client = await acceptPortForward({ exchange, query, clock, ...options })
        if (client === undefined) return
        const describeFailure = (port: number, error: Error): string => `port ${port}: ${error.message}`
        await runPortForward({ client, connect, describeFailure })
        resolve()
      })(),
  )
  return { connectHttp, pods, ended }
}

async function read(source: Duplex): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of source.iterator({ destroyOnReturn: false })) pieces.push(piece as Uint8Array)
  return Buffer.concat(pieces)
}

async function podAt({ pods }: Served, port: number): Promise<Duplex> {
  while (!pods.has(port)) await clock.turn()
  return pods.get(port)!
}

async function closed(stream: Duplex): Promise<void> {
  if (!stream.closed) await new Promise<void>(resolve => void stream.once('close', resolve))
}

test('port-forward over SPDY transfers data in both directions and half-closes', async () => {
  const served = serve()
  const connection = await connectPortForward({ ...served, clock, url, port: 80 })
  const pod = await podAt(served, 80)
  const large = Buffer.alloc(3_000_000, 'question')
  connection.end(large)
  assert.ok((await read(pod)).equals(large))
  pod.end(large)
  assert.ok((await read(connection)).equals(large))
  await Promise.all([closed(connection), closed(pod), served.ended])
})

test('port-forward reports a closed port and closes both ends of a broken connection', async () => {
  const refused = await connectPortForward({ ...serve(), clock, url, port: 9999 })
  await assert.rejects(read(refused), /port 9999: connection refused/)
  const broken = serve()
  const connection = await connectPortForward({ ...broken, clock, url, port: 80 })
  const pod = await podAt(broken, 80)
  pod.destroy(new Error('reset'))
  await closed(connection)
  const left = serve()
  const leaving = await connectPortForward({ ...left, clock, url, port: 80 })
  const abandoned = read(await podAt(left, 80)).catch(() => Buffer.alloc(0))
  leaving.destroy()
  assert.equal((await abandoned).length, 0)
  await left.ended
})

const handshake = {
  'upgrade': 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

async function openWebSocket(connectHttp: HttpConnect, protocol: string, path = '/'): Promise<WebSocket> {
  const headers = { ...handshake, ...(protocol !== '' && { 'sec-websocket-protocol': protocol }) }
  const client = connectHttp({ origin: 'http://kubelet' })
  const upgrade = await client.upgrade({ method: 'GET', path, headers })
  assert.ok(upgrade.type === 'upgraded')
  const { connection, head } = upgrade
  return new WebSocket({
    connection: new UpgradedConnection({ connection, head, clock }),
    maskingKey: () => Uint8Array.of(9, 8, 7, 6),
  })
}

test('port-forward with SPDY over WebSocket serves several connections', async () => {
  const served = serve()
  const socket = await openWebSocket(served.connectHttp, 'SPDY/3.1+portforward.k8s.io')
  const upgraded = new UpgradedConnection({ connection: new WebSocketTunnel(socket), clock })
  const spdy = new SpdyConnection({ connection: upgraded, clock, side: 'client' })
  void spdy.run()
  const talk = async (port: number, headers: Record<string, string>): Promise<void> => {
    const error = await spdy.open({ ...headers, streamtype: 'error', port: String(port) })
    const data = await spdy.open({ ...headers, streamtype: 'data', port: String(port) })
    const pod = await podAt(served, port)
    data.channel.end(`to ${port}`)
    assert.equal((await read(pod)).toString(), `to ${port}`)
    pod.end(Buffer.alloc(200_000, `from ${port}`))
    assert.equal((await read(data.channel)).length, 200_000)
    error.channel.end()
    assert.equal((await read(error.channel)).length, 0, 'the stream for errors ends too')
  }
  await talk(1, {})
  await talk(2, {})
  await Promise.all([talk(3, { requestid: '0' }), talk(4, { requestid: '1' })])
  await spdy.close()
  await served.ended
})

test('invalid and incomplete port-forward streams are rejected or reported', async () => {
  const served = serve({ streamCreationTimeoutMs: 20 })
  const socket = await openWebSocket(served.connectHttp, 'SPDY/3.1+portforward.k8s.io')
  const upgraded = new UpgradedConnection({ connection: new WebSocketTunnel(socket), clock })
  const spdy = new SpdyConnection({ connection: upgraded, clock, side: 'client' })
  void spdy.run()
  for (const headers of [
    { streamtype: 'data' },
    { streamtype: 'data', port: '0' },
    { streamtype: 'data', port: '65536' },
    { streamtype: 'data', port: 'http' },
    { streamtype: 'other', port: '80' },
    { port: '80' },
  ])
    await assert.rejects(spdy.open(headers as Record<string, string>), /reset by the peer/)
  const { channel } = await spdy.open({ streamtype: 'error', port: '80', requestid: 'a' })
  await assert.rejects(spdy.open({ streamtype: 'error', port: '80', requestid: 'a' }), /reset by the peer/)
  const text = (await read(channel)).toString()
  assert.match(text, /timed out waiting for streams/)
  await spdy.close()
})

test('port-forward over the older WebSocket protocol has two channels for each port', async () => {
  const check = async (protocol: string): Promise<void> => {
    const served = serve()
    const isText = protocol.includes('base64')
    const socket = await openWebSocket(served.connectHttp, protocol, '/?port=258,9999&port=80')
    const heard: Buffer[] = Array.from({ length: 6 }, () => Buffer.alloc(0))
    const listen = async (): Promise<void> => {
      let message = Buffer.alloc(0)
      for await (const { bytes, isLast } of socket.pieces()) {
        message = Buffer.concat([message, bytes])
        if (!isLast) continue
        const index = message[0]! - (isText ? 48 : 0)
        const text = message.subarray(1)
        const content = isText ? Buffer.from(text.toString(), 'base64') : text
        heard[index] = Buffer.concat([heard[index]!, content])
        message = Buffer.alloc(0)
      }
    }
    const listening = listen()
    const encode = (text: string): Buffer => Buffer.from(isText ? Buffer.from(text).toString('base64') : text)
    await socket.send([isText ? Buffer.from('4') : Uint8Array.of(4), encode('hello')], { isText })
    const pod = await podAt(served, 80)
    const { value } = await pod.iterator({ destroyOnReturn: false }).next()
    assert.equal(String(value), 'hello')
    pod.end('bye')
    ;(await podAt(served, 258)).end()
    await listening
    assert.deepEqual(
      heard.map(bytes => bytes.toString('latin1')),
      [
        '\u0002\u0001',
        '\u0002\u0001',
        '\u000f\u0027',
        '\u000f\u0027port 9999: connection refused',
        'P\0bye',
        'P\0',
      ],
    )
    await served.ended
  }
  await check('v4.channel.k8s.io')
  await check('v4.base64.channel.k8s.io')
  await check('')
})

test('requests that cannot be served are refused', async () => {
  const { connectHttp } = serve()
  const check = async (
    path: string,
    headers: Record<string, string>,
    expected: number,
    reason: RegExp,
  ): Promise<void> => {
    const upgrade = await connectHttp({ origin: 'http://kubelet' }).upgrade({ method: 'GET', path, headers })
    assert.ok(upgrade.type === 'refused', reason.source)
    assert.equal(upgrade.response.status, expected)
    for await (const piece of upgrade.response.body) assert.match(Buffer.from(piece).toString(), reason)
  }
  await check('/', handshake, 400, /query parameter "port" is required/)
  await check('/?port=', handshake, 400, /cannot be empty/)
  await check('/?port=80,x', handshake, 400, /unable to parse "80,x" as a port/)
  await check('/?port=0', handshake, 400, /port "0" must be > 0/)
  await check(`/?port=${Array.from({ length: 128 }, () => '1').join(',')}`, handshake, 400, /at most/)
  await check('/', { ...handshake, 'sec-websocket-protocol': 'SPDY/3.1+other.k8s.io' }, 403, /not supported/)
  await check(
    '/?port=1',
    { ...handshake, 'sec-websocket-protocol': 'v5.channel.k8s.io' },
    403,
    /not supported/,
  )
  await check('/', { 'upgrade': 'SPDY/3.1', 'x-stream-protocol-version': 'x' }, 403, /unable to negotiate/)
})
