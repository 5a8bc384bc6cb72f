import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HttpClientResponse, HttpConnect } from '#/platform/http-client.ts'
import { nodePlatform } from '#/platform/node.ts'
import { waitUntilStable } from '../../tests/wait-until.ts'
import { connectCommand } from './command-client.ts'
import { acceptCommand, readCommandOptions, type AcceptCommandOptions } from './command-server.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { runCommand } from './run-command.ts'
import { SpdyConnection } from './spdy.ts'
import type { CommandClient, CommandOptions, CommandProcess, CommandResult } from './streams.ts'
import { echoProcess, TestProcess } from './testdata/test-process.ts'
import { upgradeInMemory } from './testdata/upgrade-in-memory.ts'
import { frameBytes, WebSocket } from './web-socket.ts'
import { opcodes } from './web-socket/frame-parser.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })
const all: CommandOptions = { stdin: true, stdout: true, stderr: true, tty: false }
const terminal: CommandOptions = { stdin: true, stdout: true, stderr: false, tty: true }
const url = 'http://runtime/exec/token'

interface Served {
  readonly connectHttp: HttpConnect
  /** One result per command. */
  readonly results: CommandResult[]
}

function serve(
  start: () => CommandProcess,
  options: Partial<AcceptCommandOptions> = {},
): Served & { readonly clients: (CommandClient | undefined)[] } {
  const results: CommandResult[] = []
  const clients: (CommandClient | undefined)[] = []
  const connectHttp = upgradeInMemory(
    exchange =>
      void (async () => {
        const client = await acceptCommand({ exchange, options: all, clock, ...options })
        clients.push(client)
        if (client !== undefined) results.push(await runCommand({ client, start: async () => start() }))
      })(),
  )
  return { connectHttp, results, clients }
}

const key = 'dGhlIHNhbXBsZSBub25jZQ=='

async function upgradeTo(
  connectHttp: HttpConnect,
  headers: Record<string, string | string[]>,
  method = 'GET',
): Promise<
  | HttpClientResponse
  | { readonly connection: Duplex; readonly protocol: string | undefined; head: Uint8Array }
> {
  const upgrade = await connectHttp({ origin: 'http://server' }).upgrade({ method, path: '/', headers })
  if (upgrade.type === 'refused') return upgrade.response
  const { connection, head, headers: answered } = upgrade
  return {
    connection,
    head,
    protocol: answered['sec-websocket-protocol'] ?? answered['x-stream-protocol-version'],
  }
}

interface Conversation {
  readonly socket: WebSocket
  /** Data received per channel until the server closed the connection. */
  readonly heard: Promise<string[]>
}

/** Opens a WebSocket with or without a subprotocol and exchanges data. */
async function converse(connectHttp: HttpConnect, protocol: string): Promise<Conversation> {
  const upgraded = await upgradeTo(connectHttp, {
    'upgrade': 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    ...(protocol !== '' && { 'sec-websocket-protocol': ['nobody.knows', protocol] }),
  })
  assert.ok('connection' in upgraded)
  assert.equal(upgraded.protocol, protocol === '' ? undefined : protocol)
  const { connection, head } = upgraded
  const wrapped = new UpgradedConnection({ connection, head, clock })
  const socket = new WebSocket({ connection: wrapped, maskingKey: () => Uint8Array.of(1, 2, 3, 4) })
  const listen = async (): Promise<string[]> => {
    const channels: string[] = ['', '', '', '', '']
    let message = Buffer.alloc(0)
    for await (const { bytes, isLast } of socket.pieces()) {
      message = Buffer.concat([message, bytes])
      if (!isLast) continue
      const isText = protocol.includes('base64')
      const index = message[0]! - (isText ? 48 : 0)
      const content = message.subarray(1)
      channels[index] += isText ? Buffer.from(content.toString(), 'base64').toString() : content.toString()
      message = Buffer.alloc(0)
    }
    return channels
  }
  return { socket, heard: listen() }
}

const ended = 'command terminated with non-zero exit code: command terminated with exit code 3'
const endedStatus = JSON.stringify({
  metadata: {},
  status: 'Failure',
  message: ended,
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: '3' }] },
})

test('exec over WebSocket works with every subprotocol', async () => {
  const check = async (protocol: string, end: string): Promise<void> => {
    const process = new TestProcess()
    const { connectHttp, results } = serve(() => process)
    const { socket, heard } = await converse(connectHttp, protocol)
    const isText = protocol.includes('base64')
    const send = (channel: number, text: string): Promise<void> =>
      isText
        ? socket.send([Buffer.from(`${channel}${Buffer.from(text).toString('base64')}`)], { isText })
        : socket.send([Uint8Array.of(channel), Buffer.from(text)])
    await send(0, 'hello')
    await send(0, '')
    await send(9, 'to a channel that nobody has')
    for await (const bytes of process.stdin) {
      assert.equal(Buffer.from(bytes).toString(), 'hello')
      break
    }
    process.stdout.push(Buffer.from('out'))
    process.stderr.push(Buffer.from('err'))
    process.exit({ type: 'exited', code: 3 })
    assert.deepEqual(await heard, ['', 'out', 'err', end, ''], protocol)
    while (results.length === 0) await clock.turn()
    assert.deepEqual(results, [{ type: 'exited', code: 3 }])
  }
  await check('v5.channel.k8s.io', endedStatus)
  await check('v4.channel.k8s.io', endedStatus)
  await check('v4.base64.channel.k8s.io', endedStatus)
  await check('v3.channel.k8s.io', ended)
  await check('v2.channel.k8s.io', ended)
  await check('channel.k8s.io', ended)
  await check('base64.channel.k8s.io', ended)
  await check('', ended)
})

test('v5.channel.k8s.io closes stdin alone and sends resize events', async () => {
  const process = echoProcess({ type: 'exited', code: 0 })
  const { connectHttp } = serve(() => process, { options: terminal })
  const { socket, heard } = await converse(connectHttp, 'v5.channel.k8s.io')
  await socket.send([Uint8Array.of(4), Buffer.from('{"Width":80,"He')])
  await socket.send([Uint8Array.of(4), Buffer.from('ight":24}{"width":1,"HEIGHT":2}')])
  await socket.send([Uint8Array.of(0), Buffer.from('typed')])
  await socket.send([Uint8Array.of(255, 0)])
  assert.deepEqual(await heard, ['', 'typed', '', '{"metadata":{},"status":"Success"}', ''])
  assert.deepEqual(process.sizes, [
    { columns: 80, rows: 24 },
    { columns: 1, rows: 2 },
  ])
})

test('v5.channel.k8s.io sends nothing before the client answers a ping', async () => {
  const process = new TestProcess()
  const { connectHttp } = serve(() => process)
  const upgraded = await upgradeTo(connectHttp, {
    'upgrade': 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  })
  assert.ok('connection' in upgraded)
  const { connection, head } = upgraded
  process.stdout.push(Buffer.from('out'))
  process.exit({ type: 'exited', code: 0 })
  let came = Buffer.from(head)
  connection.on('data', (bytes: Uint8Array) => (came = Buffer.concat([came, bytes])))
  for (let turn = 0; turn < 100; turn++) await clock.turn()
  assert.equal(came.toString('hex'), '8900')
  connection.write(Buffer.concat(frameBytes(opcodes.pong, [], Uint8Array.of(1, 2, 3, 4))))
  while (!came.includes('Success')) await clock.turn()
  assert.ok(came.toString('latin1').startsWith('\x89\x00\x82\x04\x01out'))
  connection.destroy()
})

test('exec over SPDY works with every protocol version', async () => {
  const check = async (protocol: string, end: string): Promise<void> => {
    const { connectHttp } = serve(() => echoProcess({ type: 'exited', code: 3 }))
    const headers = { 'upgrade': 'SPDY/3.1', 'x-stream-protocol-version': ['nobody.knows', protocol] }
    const upgraded = await upgradeTo(connectHttp, headers, 'POST')
    assert.ok('connection' in upgraded)
    assert.equal(upgraded.protocol, protocol)
    const connection = new UpgradedConnection({ connection: upgraded.connection, head: upgraded.head, clock })
    const spdy = new SpdyConnection({ connection, clock, side: 'client' })
    void spdy.run()
    const [error, stdout, stdin, stderr] = [
      await spdy.open({ streamtype: 'error' }),
      await spdy.open({ streamtype: 'stdout' }),
      await spdy.open({ streamtype: 'stdin' }),
      await spdy.open({ streamtype: 'stderr' }),
    ]
    stdin.channel.end('through')
    const texts = [stdout, stderr, error].map(async ({ channel }) => {
      let text = ''
      for await (const bytes of channel.bytes()) text += Buffer.from(bytes).toString()
      return text
    })
    assert.deepEqual(await Promise.all(texts), ['through', 'done', end], protocol)
  }
  await check('v4.channel.k8s.io', endedStatus)
  await check('v3.channel.k8s.io', ended)
  await check('v2.channel.k8s.io', ended)
  await check('channel.k8s.io', ended)
})

async function outcome(process: CommandProcess): Promise<[Buffer, string, CommandResult]> {
  const read = async (source: AsyncIterable<Uint8Array>): Promise<Buffer> => {
    const pieces: Uint8Array[] = []
    for await (const piece of source) pieces.push(piece)
    return Buffer.concat(pieces)
  }
  const [stdout, stderr, result] = await Promise.all([
    read(process.stdout),
    read(process.stderr),
    process.result,
  ])
  return [stdout, stderr.toString(), result]
}

test('client and server echo any input over exec', async () => {
  const input = fc.array(fc.uint8Array({ maxLength: 100_000, size: 'max' }), { maxLength: 10 })
  const code = fc.integer({ min: 0, max: 255 })
  await fc.assert(
    fc.asyncProperty(input, code, async (pieces, exitCode) => {
      const { connectHttp } = serve(() => echoProcess({ type: 'exited', code: exitCode }))
      await using process = await connectCommand({ connectHttp, clock, url, streams: all })
      const write = async (): Promise<void> => {
        for (const piece of pieces) await process.writeStdin(piece)
        process.endStdin()
      }
      const [[stdout, stderr, result]] = await Promise.all([outcome(process), write()])
      assert.ok(stdout.equals(Buffer.concat(pieces)))
      assert.deepEqual([stderr, result], ['done', { type: 'exited', code: exitCode }])
    }),
    { numRuns: 20 },
  )
})

test('a command that fails or cannot be started is reported with the reason', async () => {
  const { connectHttp, results } = serve(() => {
    throw new Error('no such container')
  })
  await using process = await connectCommand({ connectHttp, clock, url, streams: all })
  const failed = { type: 'failed', message: 'no such container' } as const
  assert.deepEqual(await outcome(process), [Buffer.alloc(0), '', failed])
  while (results.length === 0) await clock.turn()
  assert.deepEqual(results, [failed])
})

test('a TTY over SPDY has resize events and no stderr', async () => {
  const far = new TestProcess()
  const { connectHttp } = serve(() => far, { options: terminal })
  await using process = await connectCommand({ connectHttp, clock, url, streams: terminal })
  process.resize({ columns: 10, rows: 20 })
  process.resize({ columns: 11, rows: 21 })
  process.resize({ columns: 12, rows: 22 })
  while (far.sizes.length < 2) await clock.turn()
  assert.deepEqual(far.sizes, [
    { columns: 10, rows: 20 },
    { columns: 12, rows: 22 },
  ])
  far.exit({ type: 'exited', code: 0 })
  assert.deepEqual(await process.result, { type: 'exited', code: 0 })
})

test('the process of a disconnected client is disposed over both protocols', async () => {
  const [first, second] = [new TestProcess(), new TestProcess()]
  const spdy = serve(() => first)
  const process = await connectCommand({ connectHttp: spdy.connectHttp, clock, url, streams: all })
  await process[Symbol.asyncDispose]()
  await first.disposed.promise
  assert.equal((await process.result).type, 'failed')
  const { connectHttp, clients, results } = serve(() => second)
  const { socket, heard } = await converse(connectHttp, 'v4.channel.k8s.io')
  await socket.close()
  await second.disposed.promise
  await heard
  assert.ok(clients[0]!.signal.aborted)
  await clients[0]!.writeStdout(Buffer.from('nobody hears'))
  while (results.length === 0) await clock.turn()
  assert.deepEqual(results, [{ type: 'failed', message: 'client disconnected' }])
})

test('an exec client that does not read applies backpressure to the process', async () => {
  const far = new TestProcess()
  let written = 0
  const { connectHttp } = serve(() => ({
    stdout: (async function* () {
      for (; written < 1_000; written++) yield Buffer.alloc(32_768)
      far.exit({ type: 'exited', code: 0 })
    })(),
    stderr: far.stderr,
    result: far.result,
    writeStdin: async () => undefined,
    endStdin: () => undefined,
    resize: () => undefined,
    [Symbol.asyncDispose]: () => far[Symbol.asyncDispose](),
  }))
  await using process = await connectCommand({ connectHttp, clock, url, streams: all })
  await waitUntilStable(() => written)
  assert.ok(written < 200, `${written} pieces are on their way`)
  assert.equal((await outcome(process))[0].length, 1_000 * 32_768)
})

test('requests that cannot be served are refused with a status and a reason', async () => {
  const { connectHttp } = serve(() => new TestProcess())
  const check = async (
    headers: Record<string, string>,
    expected: number,
    reason: RegExp,
    method = 'GET',
  ): Promise<HttpClientResponse> => {
    const response = await upgradeTo(connectHttp, headers, method)
    assert.ok('status' in response, reason.source)
    assert.equal(response.status, expected)
    let text = ''
    for await (const piece of response.body) text += Buffer.from(piece).toString()
    assert.match(text, reason)
    return response
  }
  const websocket = { 'upgrade': 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key }
  await check({ ...websocket, 'sec-websocket-protocol': 'v9.channel.k8s.io' }, 403, /not supported: \[v9/)
  await check({ ...websocket, 'sec-websocket-version': '8' }, 400, /Version/)
  await check({ ...websocket, 'sec-websocket-key': 'x' }, 400, /challenge/)
  await check(websocket, 405, /method/, 'POST')
  const spdy = { 'upgrade': 'SPDY/3.1', 'x-stream-protocol-version': 'v9.channel.k8s.io' }
  const negotiation =
    /unable to negotiate protocol: client supports \[v9\.channel\.k8s\.io\], server accepts \[v4/
  const refused = await check(spdy, 403, negotiation, 'POST')
  assert.match(refused.headers['x-accepted-stream-protocol-versions'] ?? '', /v4\.channel\.k8s\.io/)
  await check({ upgrade: 'SPDY/3.1' }, 400, /header X-Stream-Protocol-Version does not exist/)
  await check({ ...spdy, 'x-stream-protocol-version': ' , ' }, 400, /no valid protocols/)
  await check(
    { ...spdy, 'x-stream-protocol-version': 'v4.channel.k8s.io', 'upgrade': 'x' },
    400,
    /missing upgrade/,
  )
})

test('a SPDY client that does not create its streams in time is disconnected', async () => {
  const { connectHttp, clients } = serve(() => new TestProcess(), { streamCreationTimeoutMs: 20 })
  const upgraded = await upgradeTo(
    connectHttp,
    { 'upgrade': 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
    'POST',
  )
  assert.ok('connection' in upgraded)
  upgraded.connection.resume()
  await new Promise<void>(resolve => void upgraded.connection.once('end', resolve))
  while (clients.length === 0) await clock.turn()
  assert.deepEqual(clients, [undefined])
})

test('an idle exec connection is closed', async () => {
  const process = new TestProcess()
  const { connectHttp } = serve(() => process, { idleTimeoutMs: 30 })
  const { heard } = await converse(connectHttp, 'v4.channel.k8s.io')
  await assert.rejects(heard)
  await process.disposed.promise
})

test('malformed exec messages end the connection', async () => {
  const check = async (...messages: Uint8Array[]): Promise<void> => {
    const process = new TestProcess()
    const { connectHttp } = serve(() => process)
    const { socket, heard } = await converse(connectHttp, 'v5.channel.k8s.io')
    for (const message of messages) await socket.send([message])
    await process.disposed.promise
    await heard.catch(() => undefined)
  }
  await check(Uint8Array.of(255))
  await check(Uint8Array.of(255, 77))
  await check(Uint8Array.of(255, 0, 0))
  const process = new TestProcess()
  const { connectHttp } = serve(() => process)
  const { socket, heard } = await converse(connectHttp, 'v4.base64.channel.k8s.io')
  await socket.send([Buffer.from('0not base64!')])
  await process.disposed.promise
  await heard.catch(() => undefined)
})

test('random bytes after the handshake end the connection and its process', async () => {
  const websocket = {
    'upgrade': 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  }
  const spdy = { 'upgrade': 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' }
  const garbage = fc.array(
    fc.oneof(fc.uint8Array({ maxLength: 300 }), ...beginnings.map(each => fc.constant(each))),
    {
      maxLength: 10,
    },
  )
  await fc.assert(
    fc.asyncProperty(garbage, fc.boolean(), async (pieces, isWebSocket) => {
      const { connectHttp, clients } = serve(() => new TestProcess())
      const headers = isWebSocket ? websocket : spdy
      const upgraded = await upgradeTo(connectHttp, headers, isWebSocket ? 'GET' : 'POST')
      assert.ok('connection' in upgraded)
      upgraded.connection.resume()
      for (const piece of pieces) upgraded.connection.write(piece)
      upgraded.connection.end()
      while (clients.length === 0) await clock.turn()
      const [client] = clients
      while (client !== undefined && !client.signal.aborted) await clock.turn()
    }),
    { numRuns: 200 },
  )
})

/** Valid frame prefixes, so that fuzzing reaches later stages. */
const beginnings = [
  Uint8Array.of(0x82, 0x85, 0, 0, 0, 0, 0),
  Uint8Array.of(0x82, 0xfe, 1, 0, 1, 2, 3, 4),
  Uint8Array.of(0x80, 3, 0, 1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2),
  Uint8Array.of(0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 5),
  Uint8Array.of(0, 0, 0, 1, 1, 0, 0, 2, 1, 2),
]

test('the query of a kubelet request selects the streams', () => {
  const check = (query: string, expected: CommandOptions | undefined): void =>
    assert.deepEqual(readCommandOptions(new URLSearchParams(query)), expected)
  check('input=1&output=1&error=1', all)
  check('input=1&output=1&error=1&tty=1', terminal)
  check('output=1', { stdin: false, stdout: true, stderr: false, tty: false })
  check('tty=1', undefined)
  check('input=true', undefined)
})
