import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { test, type TestContext } from 'node:test'
import * as grpc from '@grpc/grpc-js'
import { waitUntil, waitUntilStable } from '../../../tests/wait-until.ts'
import { GrpcError, type GrpcChannelOptions, type GrpcChannel, type GrpcCode } from '../grpc.ts'
import { connectGrpc } from './grpc.ts'

test('a unary gRPC call sends bytes and metadata and returns bytes', async t => {
  const { target } = await startServer(t, 'one')
  const channel = connect(t, { targets: [target] })
  assert.equal(await say(channel, 'hello'), 'one: hello')
  const answer = await channel.unary('/test.Echo/Say', Buffer.from('who'), { metadata: { 'x-name': 'me' } })
  assert.equal(Buffer.from(answer).toString(), 'one: who me')
})

test('a gRPC target can be a Unix socket', async t => {
  const folder = await mkdtemp(`${tmpdir()}/grpc-`)
  t.after(() => rm(folder, { recursive: true }))
  const { target } = await startServer(t, 'one', `unix:${folder}/socket`)
  assert.equal(await say(connect(t, { targets: [target] }), 'hello'), 'one: hello')
})

test('a gRPC error has the code and the details of the server', async t => {
  const { target } = await startServer(t, 'one')
  const channel = connect(t, { targets: [target] })
  await assert.rejects(say(channel, 'fail 5 not here'), failsWith('not-found', /not here/))
  await assert.rejects(say(channel, 'fail 14 gone'), failsWith('unavailable', /gone/))
  await assert.rejects(channel.unary('/test.Echo/Missing', Buffer.from('x')), failsWith('unimplemented'))
  const small = connect(t, { targets: [target], receivedBytesMax: 100 })
  await assert.rejects(say(small, 'x'.repeat(200)), failsWith('resource-exhausted'))
})

test('a gRPC call ends at its deadline or when aborted', async t => {
  const { target } = await startServer(t, 'one')
  const channel = connect(t, { targets: [target] })
  const late = channel.unary('/test.Echo/Say', Buffer.from('hang'), { timeoutMs: 30 })
  await assert.rejects(late, failsWith('deadline-exceeded'))
  const reason = new Error('enough')
  const controller = new AbortController()
  const call = channel.unary('/test.Echo/Say', Buffer.from('hang'), { signal: controller.signal })
  const stream = channel.stream('/test.Echo/Chat', { signal: controller.signal })
  const reading = read(stream, 1)
  await say(channel, 'the calls have begun')
  controller.abort(reason)
  await assert.rejects(call, reason)
  await assert.rejects(reading, reason)
  const { signal } = controller
  await assert.rejects(channel.unary('/test.Echo/Say', Buffer.from('x'), { signal }), reason)
})

test('a gRPC stream is bidirectional until one side ends it', async t => {
  const { target } = await startServer(t, 'one')
  const channel = connect(t, { targets: [target] })
  const stream = channel.stream('/test.Echo/Chat')
  await stream.send(Buffer.from('a'))
  await stream.send(Buffer.from('b'))
  stream.end()
  assert.deepEqual(await read(stream), ['one: a', 'one: b'])
  const failing = channel.stream('/test.Echo/Chat')
  await failing.send(Buffer.from('a'))
  await failing.send(Buffer.from('fail 11 too far'))
  const seen: string[] = []
  await assert.rejects(
    async () => {
      for await (const message of failing) seen.push(Buffer.from(message).toString())
    },
    failsWith('out-of-range', /too far/),
  )
  assert.deepEqual(seen, ['one: a'], 'what came before the failure is read')
})

test('an unread gRPC stream applies backpressure, and leaving the iteration cancels the call', async t => {
  const server = await startServer(t, 'one')
  const channel = connect(t, { targets: [server.target] })
  const stream = channel.stream('/test.Echo/Chat')
  await stream.send(Buffer.from('flood'))
  for await (const message of stream) {
    assert.equal(message.length, floodBytes)
    await waitUntilStable(() => {
      assert.ok(server.sent < 200, `${server.sent} messages`)
      return server.sent
    })
    break
  }
  await waitUntil(() => server.cancelled === 1)
})

test('gRPC calls fail over to the next target, and a call that was not sent is marked', async t => {
  const first = await startServer(t, 'one')
  const second = await startServer(t, 'two')
  const channel = connect(t, { targets: [first.target, second.target] })
  assert.equal(await say(channel, 'a'), 'one: a')
  await assert.rejects(say(channel, 'fail 14 no leader'), failsWith('unavailable'))
  assert.equal(await say(channel, 'b'), 'two: b')
  await assert.rejects(say(channel, 'fail 2 context deadline exceeded'), failsWith('unknown'))
  assert.equal(await say(channel, 'b'), 'one: b')
  await assert.rejects(say(channel, 'fail 14 no leader'), failsWith('unavailable'))
  assert.equal(await say(channel, 'b'), 'two: b')
  second.stop()
  await waitUntil(async () => (await say(channel, 'c').catch(String)) === 'one: c')
  channel.stream('/test.Echo/Chat').abandonTarget()
  first.stop()
  await waitUntil(async () => {
    const error: unknown = await say(channel, 'd').catch((error: unknown) => error)
    return error instanceof GrpcError && error.code === 'unavailable' && !error.sent
  })
  await assert.rejects(
    say(channel, 'd'),
    failsWith('unavailable', /no target can be reached: connect ECONNREFUSED/),
  )
})

test('closing a gRPC channel ends its calls', async t => {
  const { target } = await startServer(t, 'one')
  const channel = connectGrpc({ targets: [target] })
  const reading = read(channel.stream('/test.Echo/Chat'))
  const call = channel.unary('/test.Echo/Say', Buffer.from('hang'))
  await say(channel, 'the calls have begun')
  await Promise.all([
    channel[Symbol.asyncDispose](),
    assert.rejects(call, failsWith('cancelled')),
    assert.rejects(reading, failsWith('cancelled')),
  ])
  await assert.rejects(say(channel, 'x'), failsWith('cancelled'))
})

const floodBytes = 100_000

interface TestServer {
  readonly target: string
  /** Number of messages written in the flood test. */
  sent: number
  cancelled: number
  stop(): void
}

async function startServer(t: TestContext, name: string, address = '127.0.0.1:0'): Promise<TestServer> {
  const server = new grpc.Server()
  const state: TestServer = { target: address, sent: 0, cancelled: 0, stop: () => server.forceShutdown() }
  const method = (path: string, isStream: boolean) => ({
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  })
  server.addService(
    { say: method('/test.Echo/Say', false), chat: method('/test.Echo/Chat', true) },
    {
      say: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => {
        const text = call.request.toString()
        const failure = failureOf(text)
        const words = [`${name}:`, text, ...call.metadata.get('x-name')]
        if (failure) done(failure)
        else if (text !== 'hang') done(null, Buffer.from(words.join(' ')))
      },
      chat: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
        call.on('cancelled', () => state.cancelled++)
        call.on('end', () => call.end())
        call.on('data', (message: Buffer) => {
          const failure = failureOf(message.toString())
          if (failure) call.emit('error', failure)
          else if (message.toString() === 'flood') flood(call, state)
          else call.write(Buffer.from(`${name}: ${message.toString()}`))
        })
      },
    },
  )
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure()
    server.bindAsync(address, credentials, (error, port) => (error ? reject(error) : resolve(port)))
  })
  t.after(() => server.forceShutdown())
  return Object.assign(state, address.startsWith('unix:') ? {} : { target: `127.0.0.1:${port}` })
}

function flood(call: grpc.ServerDuplexStream<Buffer, Buffer>, state: TestServer): void {
  const next = (): void => {
    if (call.cancelled) return
    state.sent++
    call.write(Buffer.alloc(floodBytes), next)
  }
  next()
}

function failureOf(text: string): { code: number; details: string } | undefined {
  const [, code, details] = /^fail (\d+) (.*)$/.exec(text) ?? []
  return code === undefined || details === undefined ? undefined : { code: Number(code), details }
}

function bytes(message: Buffer): Buffer {
  return message
}

function connect(t: TestContext, options: GrpcChannelOptions): GrpcChannel {
  const channel = connectGrpc(options)
  t.after(() => channel[Symbol.asyncDispose]())
  return channel
}

async function say(channel: GrpcChannel, text: string): Promise<string> {
  return Buffer.from(await channel.unary('/test.Echo/Say', Buffer.from(text))).toString()
}

async function read(stream: AsyncIterable<Uint8Array>, limit = Infinity): Promise<string[]> {
  const messages: string[] = []
  for await (const message of stream) {
    messages.push(Buffer.from(message).toString())
    if (messages.length >= limit) break
  }
  return messages
}

function failsWith(code: GrpcCode, details = /./): (error: unknown) => boolean {
  return error => error instanceof GrpcError && error.code === code && details.test(error.details)
}
