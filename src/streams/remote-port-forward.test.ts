import assert from 'node:assert/strict'
import { duplexPair, type Duplex } from 'node:stream'
import { test } from 'node:test'
import type { HttpClient } from '#/platform/http-client.ts'
import { nodePlatform } from '#/platform/node.ts'
import { acceptPortForward } from './port-forward-server.ts'
import { connectRemotePortForward, type RemotePortForward } from './remote-port-forward.ts'
import { runPortForward } from './run-port-forward.ts'
import { upgradeInMemory } from './testdata/upgrade-in-memory.ts'
import { refuse, type UpgradeExchange } from './upgrade-exchange.ts'
import { acceptWebSocket } from './web-socket-handshake.ts'
import { frameBytes } from './web-socket.ts'
import { opcodes } from './web-socket/frame-parser.ts'

const { clock, random } = nodePlatform({ log: { level: 'error', format: 'text' } })
const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io'

interface Server {
  readonly http: HttpClient
  readonly methods: string[]
  readonly ended: Promise<void>
}

/** Each port echoes what it receives, with the port in front. Port 9999 refuses connections. */
function serve(answers: Readonly<Record<string, (exchange: UpgradeExchange) => void>> = {}): Server {
  const methods: string[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const connect = async (port: number): Promise<Duplex> => {
    if (port === 9999) throw new Error('connection refused')
    const [near, far] = duplexPair()
    for (const end of [near, far]) end.on('error', () => undefined)
    far.write(`${port}:`)
    far.pipe(far)
    return near
  }
  const connectHttp = upgradeInMemory((exchange, query) => {
    methods.push(exchange.method)
    const answer = answers[exchange.method]
    if (answer !== undefined) return answer(exchange)
    void (async () => {
      const client = await acceptPortForward({ exchange, query, clock })
      if (client === undefined) return
      const describeFailure = (port: number, error: Error): string => `port ${port}: ${error.message}`
      await runPortForward({ client, connect, describeFailure })
      resolve()
    })()
  })
  return { http: connectHttp({ origin: 'http://server' }), methods, ended }
}

function connect(
  { http }: Server,
  options: { readonly webSocket?: boolean } = {},
): Promise<RemotePortForward> {
  return connectRemotePortForward({ http, clock, random, path: '/portforward', ...options })
}

async function talk(forward: RemotePortForward, port: number, text: string): Promise<string> {
  const { data, failure } = await forward.open(port)
  data.end(text)
  const heard = Buffer.concat(await data.toArray()).toString()
  assert.equal(await failure, '')
  return heard
}

test('one connection forwards many, over WebSocket and over SPDY', async () => {
  for (const webSocket of [true, false]) {
    const served = serve()
    const forward = await connect(served, { webSocket })
    assert.deepEqual(served.methods, [webSocket ? 'GET' : 'POST'])
    const sent = Array.from({ length: 20 }, (_, index) => String(index).repeat(index * 2_000))
    const heard = await Promise.all(sent.map((text, index) => talk(forward, 8_000 + index, text)))
    assert.deepEqual(
      heard,
      sent.map((text, index) => `${8_000 + index}:${text}`),
    )
    await forward[Symbol.asyncDispose]()
    await Promise.all([forward.closed, served.ended])
    await assert.rejects(forward.open(80))
  }
})

test('an error of a port is that of its connection only, with the message of the server', async () => {
  for (const webSocket of [true, false]) {
    await using forward = await connect(serve(), { webSocket })
    const refused = await forward.open(9999)
    assert.equal(await refused.failure, 'port 9999: connection refused')
    assert.equal(await talk(forward, 80, 'x'), '80:x')
    const abandoned = await forward.open(81)
    abandoned.data.destroy()
    assert.equal(await talk(forward, 82, 'y'), '82:y')
  }
})

test('a server without WebSocket is asked for SPDY, and the second refusal is reported', async () => {
  const refusal = (status: number) => (exchange: UpgradeExchange) =>
    refuse(exchange, { status, message: `status ${status}` })
  const served = serve({ GET: refusal(400) })
  await using forward = await connect(served)
  assert.deepEqual(served.methods, ['GET', 'POST'])
  assert.equal(await talk(forward, 80, 'x'), '80:x')
  const refused = connect(serve({ GET: refusal(400), POST: refusal(403) }))
  await assert.rejects(refused, { status: 403, body: 'status 403\n' })
})

test('a server that leaves or violates the protocol ends the connections', async () => {
  const check = async (bytes: Uint8Array): Promise<void> => {
    const GET = (exchange: UpgradeExchange): void =>
      void acceptWebSocket(exchange, [tunnelProtocol])!.connection.end(bytes)
    await using forward = await connect(serve({ GET }))
    await assert.rejects(forward.open(80))
    await forward.closed
  }
  const message = (opcode: number, bytes: Uint8Array): Uint8Array =>
    Buffer.concat(frameBytes(opcode, [bytes], undefined))
  await check(new Uint8Array())
  await check(message(opcodes.text, Buffer.from('text')))
  await check(message(opcodes.binary, Buffer.alloc(100, 0xff)))
  await check(message(opcodes.binary, Buffer.from('800300', 'hex')))
  await check(Uint8Array.of(0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0))
  await check(message(opcodes.close, Uint8Array.of(0x03, 0xe8)))
})
