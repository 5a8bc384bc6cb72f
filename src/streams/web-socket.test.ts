import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { frameBytes, WebSocket } from './web-socket.ts'
import { FrameParser, messageBytesMax, opcodes, type WebSocketEvent } from './web-socket/frame-parser.ts'
import { WebSocketError } from './web-socket/web-socket-error.ts'
import { cut } from './test-cut.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })
const key = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d)

/** Parses frames split at any point. */
function parse(pieces: readonly Uint8Array[], isMasked: boolean): WebSocketEvent[] {
  const parser = new FrameParser({ isMasked })
  return pieces.flatMap(piece => [...parser.parse(Uint8Array.from(piece))])
}

/** Complete messages and control frames. */
function whole(events: readonly WebSocketEvent[]): string[] {
  const seen: string[] = []
  let message: Buffer[] = []
  for (const event of events) {
    const bytes = Buffer.from(event.bytes)
    if (event.type !== 'message') {
      seen.push(`${event.type} ${bytes.toString('hex')}`)
      continue
    }
    assert.equal(event.isFirst, message.length === 0)
    message.push(bytes)
    if (!event.isLast) continue
    seen.push(`${event.isText ? 'text' : 'binary'} ${Buffer.concat(message).toString('hex')}`)
    message = []
  }
  return seen
}

const frames = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom('text', 'binary'), bytes: fc.uint8Array({ maxLength: 300 }) }),
    fc.record({
      type: fc.constantFrom('ping', 'pong', 'close'),
      bytes: fc.uint8Array({ maxLength: 125 }),
    }),
    fc.record({
      type: fc.constant('binary'),
      bytes: fc.uint8Array({ minLength: 65_530, maxLength: 65_540 }),
    }),
  ),
  { maxLength: 8 },
)
const sizes = fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 5 })

test('WebSocket frames are read independent of chunk boundaries', () => {
  fc.assert(
    fc.property(frames, sizes, fc.boolean(), (sent, cuts, isMasked) => {
      const bytes = Buffer.concat(
        sent.flatMap(({ type, bytes }) =>
          frameBytes(opcodes[type as 'text'], [bytes], isMasked ? key : undefined),
        ),
      )
      const expected = sent.map(({ type, bytes }) => `${type} ${Buffer.from(bytes).toString('hex')}`)
      assert.deepEqual(whole(parse(cut(bytes, cuts), isMasked)), expected)
    }),
  )
})

test('the WebSocket examples of RFC 6455 are parsed', () => {
  const check = (hex: string, isMasked: boolean, ...expected: string[]): void =>
    assert.deepEqual(whole(parse([Buffer.from(hex.replaceAll(' ', ''), 'hex')], isMasked)), expected)
  const hello = Buffer.from('Hello').toString('hex')
  check('81 05 48 65 6c 6c 6f', false, `text ${hello}`)
  check('81 85 37 fa 21 3d 7f 9f 4d 51 58', true, `text ${hello}`)
  check('01 03 48 65 6c 80 02 6c 6f', false, `text ${hello}`)
  check('89 05 48 65 6c 6c 6f', false, `ping ${hello}`)
  // A control frame can be interleaved with a fragmented message.
  check('01 03 48 65 6c 89 00 80 02 6c 6f', false, 'ping ', `text ${hello}`)
})

test('WebSocket protocol errors are distinguished from incomplete frames', () => {
  const refused = (hex: string, code: number, isMasked = false): void => {
    const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    assert.throws(
      () => parse([bytes], isMasked),
      (error: unknown) => error instanceof WebSocketError && error.code === code,
      hex,
    )
  }
  refused('c1 00', 1002) // a reserved bit
  refused('83 00', 1002) // unknown opcode
  refused('8b 00', 1002)
  refused('81 80 00 00 00 00', 1002) // masked by a server
  refused('81 00', 1002, true) // unmasked by a client
  refused('80 00', 1002) // nothing to continue
  refused('01 00 81 00', 1002) // message within a message
  refused('09 00', 1002) // fragmented ping
  refused('89 7e 00 7e', 1002) // oversized ping
  refused('82 7f 00 00 00 01 00 00 00 00', 1009)
  refused('82 7f 00 00 00 00 02 00 00 01', 1009)
  assert.deepEqual(parse([Buffer.from('827f0000000002000000', 'hex')], false), [], 'as large as allowed')
  assert.deepEqual(parse([Buffer.from('81', 'hex')], false), [])
})

test('a fragmented WebSocket message is bounded in total', () => {
  const parser = new FrameParser({ isMasked: false })
  const half = new Uint8Array(messageBytesMax / 2)
  const head = (opcode: number, isFinal: boolean): Uint8Array => {
    const [bytes] = frameBytes(opcode, [half], undefined)
    bytes![0] = (isFinal ? 0x80 : 0) | opcode
    return bytes!
  }
  for (const opcode of [opcodes.binary, opcodes.continuation]) {
    assert.equal([...parser.parse(head(opcode, false))].length, 0)
    assert.equal([...parser.parse(half.slice())].length, 1)
  }
  assert.throws(() => [...parser.parse(Uint8Array.of(0x80, 1, 0))], { code: 1009 })
})

test('random bytes are rejected or incomplete, without another error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), sizes, fc.boolean(), (bytes, cuts, isMasked) => {
      try {
        parse(cut(bytes, cuts), isMasked)
      } catch (error) {
        assert.ok(error instanceof WebSocketError)
      }
    }),
    { numRuns: 1_000 },
  )
})

interface Ends {
  readonly client: WebSocket
  readonly server: WebSocket
}

function connect(): Ends {
  const [near, far] = duplexPair()
  return {
    client: new WebSocket({
      connection: new UpgradedConnection({ connection: near, clock }),
      maskingKey: () => key,
    }),
    server: new WebSocket({ connection: new UpgradedConnection({ connection: far, clock }) }),
  }
}

async function messages(socket: WebSocket): Promise<string[]> {
  const events: WebSocketEvent[] = []
  for await (const piece of socket.pieces()) events.push({ ...piece, bytes: Uint8Array.from(piece.bytes) })
  return whole(events)
}

test('WebSocket ends exchange messages and close cleanly', async () => {
  const { client, server } = connect()
  const seen = messages(server)
  const answers = messages(client)
  await client.send([Buffer.from('a'), Buffer.from('b')])
  await client.send([], { isText: true })
  await server.send([Buffer.from('c')], { isText: true })
  await client.close()
  assert.deepEqual(await seen, ['binary 6162', 'text '])
  assert.deepEqual(await answers, ['text 63'])
  await server.close()
  assert.ok(server.signal.aborted && client.signal.aborted)
})

test('WebSocket pings are answered, and protocol errors get a close code', async () => {
  const [near, far] = duplexPair()
  const server = new WebSocket({ connection: new UpgradedConnection({ connection: far, clock }) })
  const reading = assert.rejects(messages(server), WebSocketError)
  near.write(Buffer.concat(frameBytes(opcodes.ping, [Buffer.from('hi')], key)))
  near.write(Buffer.from([0x81, 0x00]))
  const events = parse(await near.toArray(), false)
  await reading
  assert.deepEqual(
    events.map(({ type }) => type),
    ['pong', 'close'],
  )
  assert.equal(Buffer.from(events[0]!.bytes).toString(), 'hi')
  assert.equal(Buffer.from(events[1]!.bytes).readUInt16BE(), 1002)
})

test('reading from a broken WebSocket connection fails', async () => {
  const { client, server } = connect()
  const reading = assert.rejects(messages(server))
  client.destroy()
  await reading
  await server.send([Buffer.from('nobody hears')])
})

test('a peer that is read but sends nothing is disconnected, and one that answers pings is not', async () => {
  const check = async (answers: boolean, expected: RegExp | undefined): Promise<void> => {
    const simulation = new Simulation({ seed: 1 })
    const [near, far] = duplexPair()
    const heartbeat = { clock: simulation.clock, intervalMs: 5_000, timeoutMs: 61_000 }
    const connection = new UpgradedConnection({ connection: near, clock: simulation.clock })
    const client = new WebSocket({ connection, maskingKey: () => key, heartbeat })
    const server = new WebSocket({
      connection: new UpgradedConnection({ connection: far, clock: simulation.clock }),
    })
    const seen = messages(client)
    if (answers) void messages(server).catch(() => undefined)
    else far.resume()
    const outcome = seen.then(
      () => undefined,
      (error: unknown) => String(error),
    )
    await simulation.advance(300_000)
    if (expected === undefined) {
      await server.close()
      assert.equal(await outcome, undefined)
    } else {
      assert.match((await outcome) ?? '', expected)
    }
  }
  await check(false, /i\/o timeout/)
  await check(true, undefined)
})

test('a reader that pauses does not time out', async () => {
  const simulation = new Simulation({ seed: 1 })
  const [near, far] = duplexPair()
  const heartbeat = { clock: simulation.clock, intervalMs: 5_000, timeoutMs: 61_000 }
  const connection = new UpgradedConnection({ connection: near, clock: simulation.clock })
  const client = new WebSocket({ connection, maskingKey: () => key, heartbeat })
  far.resume()
  far.write(Buffer.concat(frameBytes(opcodes.binary, [Buffer.from('a')], undefined)))
  const pieces = client.pieces()
  await pieces.next()
  await simulation.advance(300_000)
  far.write(Buffer.concat(frameBytes(opcodes.binary, [Buffer.from('b')], undefined)))
  assert.equal((await pieces.next()).done, false)
  await pieces.return()
})
