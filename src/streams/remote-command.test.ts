import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { HttpClient } from '#/platform/http-client.ts'
import { nodePlatform } from '#/platform/node.ts'
import { acceptCommand } from './command-server.ts'
import { connectRemoteCommand, type ConnectRemoteCommandOptions } from './remote-command.ts'
import { runCommand } from './run-command.ts'
import { acceptSpdy } from './spdy-handshake.ts'
import type { CommandOptions, CommandProcess, CommandResult } from './streams.ts'
import { echoProcess, TestProcess } from './testdata/test-process.ts'
import { upgradeInMemory } from './testdata/upgrade-in-memory.ts'
import { refuse, type Refusal, type UpgradeExchange } from './upgrade-exchange.ts'
import { UpgradeRefusedError } from './upgrade-refused-error.ts'
import { acceptWebSocket } from './web-socket-handshake.ts'
import { frameBytes } from './web-socket.ts'
import { opcodes } from './web-socket/frame-parser.ts'

const { clock, random } = nodePlatform({ log: { level: 'error', format: 'text' } })
const all: CommandOptions = { stdin: true, stdout: true, stderr: true, tty: false }
const terminal: CommandOptions = { stdin: true, stdout: true, stderr: true, tty: true }

/** A server that serves SPDY with the first version that the client offers, and WebSocket as given. */
interface Server {
  readonly start?: () => CommandProcess
  readonly streams?: CommandOptions
  /** Answers WebSocket requests instead of serving them. */
  readonly onWebSocket?: (exchange: UpgradeExchange) => void
  readonly onSpdy?: (exchange: UpgradeExchange) => void
}

interface Connected {
  readonly http: HttpClient
  /** Methods of the requests, and their credentials. */
  readonly requests: string[]
}

function server({ start = () => new TestProcess(), streams = all, onWebSocket, onSpdy }: Server): Connected {
  const requests: string[] = []
  const connectHttp = upgradeInMemory(exchange => {
    const { method, headers } = exchange
    requests.push(`${method} ${headers['authorization']}`)
    const answer = method === 'GET' ? onWebSocket : onSpdy
    if (answer !== undefined) return answer(exchange)
    void (async () => {
      const client = await acceptCommand({ exchange, options: streams, clock })
      if (client !== undefined) await runCommand({ client, start: async () => start() })
    })()
  })
  return { http: connectHttp({ origin: 'http://server' }), requests }
}

function connect(
  { http }: Connected,
  options: Partial<ConnectRemoteCommandOptions> = {},
): Promise<CommandProcess> {
  const headers = { authorization: 'Bearer x' }
  return connectRemoteCommand({
    http,
    clock,
    random,
    path: '/exec?stdin=true',
    headers,
    streams: all,
    ...options,
  })
}

async function textOf(source: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(source)).toString()
}

const refuseWith = (refusal: Refusal) => (exchange: UpgradeExchange) => refuse(exchange, refusal)

test('a command runs over WebSocket and over SPDY: streams, end of stdin and exit code', async () => {
  for (const webSocket of [true, false]) {
    const served = server({ start: () => echoProcess({ type: 'exited', code: 3 }) })
    await using process = await connect(served, { webSocket })
    assert.deepEqual(served.requests, [webSocket ? 'GET Bearer x' : 'POST Bearer x'])
    const [stdout, stderr] = [textOf(process.stdout), textOf(process.stderr)]
    const sent = 'question'.repeat(100_000)
    await process.writeStdin(Buffer.from(sent))
    process.endStdin()
    assert.deepEqual(await process.result, { type: 'exited', code: 3 })
    assert.ok((await stdout) === sent)
    assert.equal(await stderr, 'done')
  }
})

test('a command with a terminal gets its sizes, and its failure is reported', async () => {
  for (const webSocket of [true, false]) {
    const running = new TestProcess()
    const served = server({ start: () => running, streams: { ...terminal, stderr: false } })
    await using process = await connect(served, { webSocket, streams: { ...terminal, stderr: false } })
    process.resize({ columns: 80, rows: 24 })
    while (running.sizes.length === 0) await clock.turn()
    assert.deepEqual(running.sizes, [{ columns: 80, rows: 24 }])
    running.exit({ type: 'failed', message: 'no such container' })
    assert.deepEqual(await process.result, { type: 'failed', message: 'no such container' })
  }
})

test('disposing ends the session', async () => {
  for (const webSocket of [true, false]) {
    const running = new TestProcess()
    const process = await connect(server({ start: () => running }), { webSocket })
    await process[Symbol.asyncDispose]()
    await running.disposed.promise
    const result = await process.result
    assert.equal(result.type, 'failed')
  }
})

test('a server that does not upgrade to WebSocket is asked for SPDY', async () => {
  const check = async (onWebSocket: (exchange: UpgradeExchange) => void): Promise<void> => {
    const served = server({ start: () => echoProcess({ type: 'exited', code: 0 }), onWebSocket })
    await using process = await connect(served)
    assert.deepEqual(served.requests, ['GET Bearer x', 'POST Bearer x'])
    process.endStdin()
    assert.equal((await process.result).type, 'exited')
  }
  await check(refuseWith({ status: 400, message: 'Upgrade request required' }))
  await check(refuseWith({ status: 403, message: 'forbidden' }))
  await check(refuseWith({ status: 200, message: 'not an upgrade' }))
  await check(
    exchange => void acceptWebSocket(withProtocol(exchange, 'v4.channel.k8s.io'), ['v4.channel.k8s.io']),
  )
  await check(exchange => {
    const { connection } = exchange.hijack!()
    const lines = [
      'Upgrade: websocket',
      'Sec-WebSocket-Protocol: v5.channel.k8s.io',
      'Sec-WebSocket-Accept: wrong',
    ]
    connection.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
  })
})

function withProtocol(exchange: UpgradeExchange, protocol: string): UpgradeExchange {
  const { method, headers } = exchange
  return {
    method,
    headers,
    headerValues: () => [protocol],
    respond: () => undefined,
    end: () => undefined,
    hijack: () => exchange.hijack!(),
  }
}

test('SPDY servers of all versions are understood', async () => {
  const check = async (protocol: string, text: string, expected: CommandResult): Promise<void> => {
    const onSpdy = (exchange: UpgradeExchange): void => {
      void (async () => {
        const only = { ...withProtocol(exchange, protocol), method: 'POST' }
        const client = await acceptCommand({ exchange: only, options: all, clock })
        await client!.finish(text === '' ? { type: 'exited', code: 0 } : { type: 'failed', message: text })
      })()
    }
    await using process = await connect(server({ onSpdy }), { webSocket: false })
    assert.deepEqual(await process.result, expected, protocol)
  }
  for (const protocol of ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io']) {
    await check(protocol, '', { type: 'exited', code: 0 })
    const prefix = protocol.startsWith('v4') ? '' : 'error executing remote command: '
    await check(protocol, 'broken', { type: 'failed', message: `${prefix}broken` })
  }
  const onSpdy = (exchange: UpgradeExchange): void => void acceptSpdy(withProtocol(exchange, 'v9'), ['v9'])
  await assert.rejects(connect(server({ onSpdy }), { webSocket: false }), /server selected v9/)
})

test('a refusal has the status and the text of the second answer', async () => {
  const body = JSON.stringify({ kind: 'Status', message: 'pods "web" is forbidden' })
  const served = server({
    onWebSocket: refuseWith({ status: 400, message: 'no' }),
    onSpdy: refuseWith({ status: 403, message: body }),
  })
  await assert.rejects(connect(served), (error: unknown) => {
    assert.ok(error instanceof UpgradeRefusedError)
    assert.deepEqual([error.status, JSON.parse(error.body)], [403, JSON.parse(body)])
    assert.equal(error.message, `unable to upgrade connection: ${body}`)
    return true
  })
  const large = server({ onSpdy: refuseWith({ status: 500, message: 'x'.repeat(200_000) }) })
  await assert.rejects(connect(large, { webSocket: false }), { status: 500, body: 'x'.repeat(65_536) })
})

test('an unreachable server is asked once, and an aborted connect ends', async () => {
  let count = 0
  const upgrade: HttpClient['upgrade'] = async () => {
    count++
    throw new Error('connection refused')
  }
  await assert.rejects(connectRemoteCommand({ http: { upgrade }, clock, random, path: '/', streams: all }), {
    message: 'connection refused',
  })
  assert.equal(count, 1)
  for (const webSocket of [true, false]) {
    const silent = server({ onWebSocket: () => undefined, onSpdy: exchange => void exchange.hijack!() })
    const controller = new AbortController()
    const connecting = connect(silent, { webSocket, signal: controller.signal })
    controller.abort(new Error('enough'))
    await assert.rejects(connecting, /enough/)
  }
})

/** Serves WebSocket by writing these bytes, and then ends the connection. */
function hostile(bytes: Uint8Array): Connected {
  const write = (connection: Duplex): void => void connection.end(bytes)
  return server({
    onWebSocket: exchange => write(acceptWebSocket(exchange, ['v5.channel.k8s.io'])!.connection),
  })
}

test('the end of a WebSocket decides about the result', async () => {
  const binary = (channel: number, text: string): Uint8Array =>
    Buffer.concat(frameBytes(opcodes.binary, [Uint8Array.of(channel), Buffer.from(text)], undefined))
  const close = (code: number, reason = ''): Uint8Array =>
    Buffer.concat(
      frameBytes(opcodes.close, [Uint8Array.of(code >> 8, code & 0xff), Buffer.from(reason)], undefined),
    )
  const check = async (expected: CommandResult, ...frames: Uint8Array[]): Promise<void> => {
    await using process = await connect(hostile(Buffer.concat(frames)))
    // The streams end or fail, too.
    await Promise.allSettled([textOf(process.stdout), textOf(process.stderr)])
    assert.deepEqual(await process.result, expected)
  }
  const failed = (message: string): CommandResult => ({ type: 'failed', message })
  const broken = 'error reading from error stream: next reader: '
  const success = binary(3, '{"status":"Success"}')
  await check({ type: 'exited', code: 0 }, success, close(1000))
  await check({ type: 'exited', code: 0 }, success)
  await check({ type: 'exited', code: 0 }, close(1000))
  await check(failed(`${broken}websocket: close 1006 (abnormal closure): unexpected EOF`))
  await check(failed(`${broken}websocket: close 1006 (abnormal closure): unexpected EOF`), binary(1, 'out'))
  await check(failed(`${broken}websocket: close 1005 (no status)`), Uint8Array.of(0x88, 0))
  await check(failed(`${broken}websocket: close 1011 (internal server error): oh`), close(1011, 'oh'))
  await check(failed(`${broken}websocket: close 4000`), close(4000))
  await check(
    failed(`${broken}websocket: close 1006 (abnormal closure): unexpected EOF`),
    success.subarray(0, 9),
  )
  await check(failed(`${broken}a message is too large`), Uint8Array.of(0x82, 127, 0, 0, 0, 0, 2, 0, 0, 1))
  await check(failed(`${broken}a frame is masked`), Uint8Array.of(0x82, 0x81, 1, 2, 3, 4, 5))
  await check(failed(`${broken}close of an unknown channel`), binary(255, '\u0009'))
  await check(failed('not json'), binary(3, 'not json'), close(1000))
  // Streams that were not requested do not stall those that were.
  await using process = await connect(
    hostile(
      Buffer.concat([...Array(80)].map(() => binary(2, 'x'.repeat(32_000))).concat(success, close(1000))),
    ),
    { streams: { ...all, stderr: false } },
  )
  assert.deepEqual(await process.result, { type: 'exited', code: 0 })
})

test('a stream of more than the limit of the result is not kept', async () => {
  const flood = Array.from({ length: 100 }, () =>
    Buffer.concat(frameBytes(opcodes.binary, [Uint8Array.of(3), Buffer.alloc(32_000, 'e')], undefined)),
  )
  await using process = await connect(hostile(Buffer.concat(flood)))
  const result = await process.result
  assert.ok(result.type === 'failed' && result.message.length <= 1024 * 1024)
})
