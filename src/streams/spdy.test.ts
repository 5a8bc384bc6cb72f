import assert from 'node:assert/strict'
import { duplexPair, type Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { constants, createDeflate, createInflate, type Deflate } from 'node:zlib'
import fc from 'fast-check'
import { nodePlatform } from '#/platform/node.ts'
import { waitUntilStable } from '../../tests/wait-until.ts'
import type { Channel } from './connection/channel.ts'
import { unreadBytesMax } from './connection/receive-window.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { controlBytes, dataHead, kinds, openBytes, readControl } from './spdy/control-frame.ts'
import { SpdyFrameParser, type SpdyPiece } from './spdy/frame-parser.ts'
import { headerBlock, readHeaderBlock } from './spdy/header-block.ts'
import { headerBytesMax, HeaderReader, HeaderWriter, headerDictionary } from './spdy/header-compression.ts'
import { SpdyError } from './spdy/spdy-error.ts'
import { SpdyConnection, streamsMax, type SpdyStream } from './spdy.ts'
import { cut } from './test-cut.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })

function parse(pieces: readonly Uint8Array[]): SpdyPiece[] {
  const parser = new SpdyFrameParser()
  return pieces.flatMap(piece => [...parser.parse(piece)])
}

const sizes = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 })
const text = fc.string({ maxLength: 40, unit: 'grapheme-ascii' }).filter(each => !each.includes('\0'))
const headersArbitrary = fc.dictionary(
  text.filter(each => each !== '' && each !== '__proto__').map(each => each.toLowerCase()),
  text,
  { maxKeys: 6 },
)

test('SPDY frames are read independent of chunk boundaries', () => {
  const frame = fc.record({
    id: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    bytes: fc.uint8Array({ maxLength: 300 }),
    isEnd: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), sizes, (frames, cuts) => {
      const sent = frames.flatMap(({ id, bytes, isEnd }) => [dataHead(id, bytes.length, { isEnd }), bytes])
      const seen: string[] = []
      let current = ''
      for (const piece of parse(cut(Buffer.concat(sent), cuts))) {
        assert.equal(piece.type, 'data')
        if (piece.type !== 'data') continue
        current += Buffer.from(piece.bytes).toString('hex')
        const expected = frames[seen.length]!
        assert.equal(piece.streamId, expected.id)
        if (current.length < expected.bytes.length * 2) continue
        seen.push(`${piece.streamId} ${current} ${piece.isEnd}`)
        current = ''
      }
      assert.deepEqual(
        seen,
        frames.map(({ id, bytes, isEnd }) => `${id} ${Buffer.from(bytes).toString('hex')} ${isEnd}`),
      )
    }),
  )
})

test('SPDY headers survive a round trip and are readable by zlib', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(headersArbitrary, { minLength: 1, maxLength: 5 }), async all => {
      const writer = new HeaderWriter()
      const reader = new HeaderReader()
      const compressed: Uint8Array[] = []
      for (const headers of all) {
        const block = writer.write(headerBlock(headers))
        compressed.push(block)
        assert.deepEqual({ ...readHeaderBlock(await reader.read(block)) }, { ...headers })
      }
      reader.close()
      const inflate = createInflate({ dictionary: headerDictionary, finishFlush: constants.Z_SYNC_FLUSH })
      inflate.end(Buffer.concat(compressed))
      assert.deepEqual(await buffer(inflate), Buffer.concat(all.map(headerBlock)))
    }),
    { numRuns: 50 },
  )
})

/** Compresses like the Go library of Kubernetes' clients. */
function compressor(): (block: Uint8Array) => Promise<Uint8Array> {
  const deflate: Deflate = createDeflate({ dictionary: headerDictionary, level: 9 })
  return async block => {
    const pieces: Buffer[] = []
    const collect = (piece: Buffer): void => void pieces.push(piece)
    deflate.on('data', collect)
    deflate.write(block)
    await new Promise<void>(resolve => deflate.flush(constants.Z_SYNC_FLUSH, resolve))
    deflate.off('data', collect)
    return Buffer.concat(pieces)
  }
}

test('SPDY headers compressed in several blocks are read', async () => {
  const compress = compressor()
  const reader = new HeaderReader()
  for (const streamtype of ['error', 'stdin', 'stdout', 'stderr', 'resize']) {
    const block = await compress(headerBlock({ streamtype, port: '80', requestid: '7' }))
    assert.deepEqual(
      { ...readHeaderBlock(await reader.read(block)) },
      { streamtype, port: '80', requestid: '7' },
    )
  }
  reader.close()
})

test('damaged, truncated and oversized SPDY headers are rejected', async () => {
  const check = async (block: Uint8Array): Promise<void> => {
    const reader = new HeaderReader()
    await assert.rejects(async () => readHeaderBlock(await reader.read(block)), SpdyError)
    reader.close()
  }
  const good = new HeaderWriter().write(headerBlock({ a: 'b' }))
  await check(Buffer.from('not compressed at all'))
  await check(good.subarray(0, good.length - 8))
  await check(new Uint8Array())
  const bomb = await compressor()(Buffer.alloc(headerBytesMax * 100))
  assert.ok(bomb.length < headerBytesMax)
  await check(bomb)
  assert.throws(() => readHeaderBlock(Buffer.from('00000001000000ff', 'hex')), SpdyError)
  assert.throws(() => readHeaderBlock(Buffer.from('ffffffff', 'hex')), SpdyError)
})

test('random bytes are rejected or incomplete, without another error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), sizes, (bytes, cuts) => {
      const plausible = bytes.length > 2 ? Buffer.concat([Uint8Array.of(0x80, 3, 0), bytes]) : bytes
      for (const sent of [bytes, plausible]) {
        try {
          for (const piece of parse(cut(sent, cuts))) if (piece.type === 'control') readControl(piece)
        } catch (error) {
          assert.ok(error instanceof SpdyError)
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

/** Reads to the end; the writable side stays open. */
async function whole(channel: Channel): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of channel.bytes()) pieces.push(piece)
  return Buffer.concat(pieces)
}

interface Ends {
  readonly client: SpdyConnection
  readonly server: SpdyConnection
  /** Streams opened by the client, on the server side. */
  readonly streams: SpdyStream[]
}

function connect(accepts: (stream: SpdyStream) => boolean = () => true): Ends {
  const [near, far] = duplexPair()
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream): boolean => {
    streams.push(stream)
    return accepts(stream)
  }
  const client = new SpdyConnection({
    connection: new UpgradedConnection({ connection: near, clock }),
    clock,
    side: 'client',
  })
  const upgraded = new UpgradedConnection({ connection: far, clock })
  const server = new SpdyConnection({ connection: upgraded, clock, side: 'server', onStream })
  void client.run()
  void server.run()
  return { client, server, streams }
}

test('SPDY streams carry headers and data in both directions and half-close', async () => {
  const { client, server, streams } = connect()
  const { channel, id } = await client.open({ streamtype: 'data' })
  const [stream] = streams
  assert.deepEqual({ ...stream!.headers }, { streamtype: 'data' })
  assert.equal(id, 1)
  const seen = whole(stream!.channel)
  channel.write('question')
  channel.end()
  assert.equal((await seen).toString(), 'question')
  const answer = whole(channel)
  const large = Buffer.alloc(5_000_000, 'abc')
  stream!.channel.end(large)
  assert.ok((await answer).equals(large))
  await client.close()
  await server.close()
})

test('concurrent SPDY streams do not mix', async () => {
  const { client } = connect(({ headers, channel }) => {
    channel.pipe(channel)
    return headers['name'] !== ''
  })
  const sent = Array.from({ length: 50 }, (_, index) => Buffer.alloc(index * 997, String(index)))
  const seen = await Promise.all(
    sent.map(async (bytes, index) => {
      const { channel } = await client.open({ name: String(index) })
      channel.end(bytes)
      return whole(channel)
    }),
  )
  assert.ok(seen.every((bytes, index) => bytes.equals(sent[index]!)))
  await client.close()
})

test('SPDY streams can be refused and reset', async () => {
  const { client, streams } = connect(({ headers }) => headers['kind'] !== 'bad')
  await assert.rejects(client.open({ kind: 'bad' }), /reset by the peer/)
  const { channel } = await client.open({ kind: 'good' })
  const far = streams[1]!.channel
  channel.write('last words')
  await new Promise<void>(resolve => void far.once('readable', resolve))
  channel.destroy()
  await new Promise<void>(resolve => void far.once('disconnect', resolve))
  assert.equal((await whole(far)).toString(), 'last words', 'what came before can be read')
  await far.send(Buffer.from('to nobody'))
  await client.close()
})

test('readers fail when a SPDY connection breaks, and end after GOAWAY', async () => {
  const broken = connect()
  await broken.client.open({})
  const failing = assert.rejects(whole(broken.streams[0]!.channel))
  broken.client.destroy()
  await failing
  const parted = connect()
  await parted.client.open({})
  const ending = whole(parted.streams[0]!.channel)
  await parted.client.close()
  assert.equal((await ending).length, 0)
  await assert.rejects(parted.client.open({}), /closed/)
})

test('data received before a disconnect is still readable', async () => {
  const [near, far] = duplexPair()
  const client = new SpdyConnection({
    connection: new UpgradedConnection({ connection: far, clock }),
    clock,
    side: 'client',
  })
  const running = client.run()
  const opening = client.open({})
  await new Promise(resolve => near.once('data', resolve))
  const writer = new HeaderWriter()
  const reply = (): Uint8Array => controlBytes(kinds.reply, [1], writer.write(headerBlock({ a: 'b' })))
  const replies = Array.from({ length: 500 }, reply)
  near.end(Buffer.concat([...replies, dataHead(1, 4, { isEnd: true }), Buffer.from('said')]))
  // Simulates a socket after the peer has closed: everything is read before the frames are processed.
  while (!far.readableEnded) {
    far.read(0)
    await clock.turn()
  }
  far.destroy()
  const { channel } = await opening
  assert.equal((await whole(channel)).toString(), 'said')
  await running
})

test('an unread SPDY stream blocks the sender until it is read', async () => {
  const { client, streams } = connect()
  const { channel } = await client.open({})
  let sentBytes = 0
  const piece = Buffer.alloc(65_536)
  const totalBytes = 8 * 1024 * 1024
  const sending = (async (): Promise<void> => {
    for (; sentBytes < totalBytes; sentBytes += piece.length) await channel.send(piece)
    channel.end()
  })()
  await waitUntilStable(() => sentBytes)
  assert.ok(sentBytes >= unreadBytesMax && sentBytes < totalBytes / 2, `${sentBytes} bytes were sent`)
  assert.equal((await whole(streams[0]!.channel)).length, totalBytes)
  await sending
  await client.close()
})

/** A server and the raw connection to it. */
function bare(onStream: (stream: SpdyStream) => boolean = () => true): {
  readonly connection: Duplex
  readonly running: Promise<void>
} {
  const [near, far] = duplexPair()
  const upgraded = new UpgradedConnection({ connection: far, clock })
  const running = new SpdyConnection({ connection: upgraded, clock, side: 'server', onStream }).run()
  return { connection: near, running }
}

test('SPDY pings are answered, SETTINGS and WINDOW_UPDATE are not', async () => {
  const { connection, running } = bare()
  connection.write(controlBytes(4, [0]))
  connection.write(controlBytes(9, [1, 65_536]))
  connection.write(controlBytes(99, [1, 2, 3]))
  connection.write(controlBytes(kinds.ping, [2]))
  connection.end(controlBytes(kinds.ping, [7]))
  const seen = parse(await connection.toArray())
  assert.deepEqual(
    seen.map(piece => piece.type === 'control' && readControl(piece)),
    [{ type: 'ping', id: 7 }],
  )
  await running
})

test('a SPDY peer that does not read responses is not read from', async () => {
  const writer = new HeaderWriter()
  const check = async (frame: (count: number) => Uint8Array): Promise<void> => {
    const [near, far] = duplexPair()
    const upgraded = new UpgradedConnection({ connection: far, clock })
    const running = new SpdyConnection({
      connection: upgraded,
      clock,
      side: 'server',
      onStream: () => false,
    }).run()
    const frames = Array.from({ length: 20_000 }, (_, count) => frame(count))
    near.write(Buffer.concat(frames))
    const waiting = (): number => far.writableLength + near.readableLength
    await waitUntilStable(waiting)
    assert.ok(waiting() > 0 && waiting() < 200_000, `${waiting()} bytes wait to be read`)
    near.destroy()
    upgraded.destroy()
    await running
  }
  await check(() => controlBytes(kinds.ping, [1]))
  await check(count => openBytes(count * 2 + 1, writer.write(headerBlock({}))))
})

test('malformed SPDY frames end the connection with GOAWAY', async () => {
  const check = async (...frames: Uint8Array[]): Promise<void> => {
    const { connection, running } = bare()
    connection.end(Buffer.concat(frames))
    const seen = parse(await connection.toArray())
    assert.ok(seen.some(piece => piece.type === 'control' && piece.kind === kinds.goAway))
    await running
  }
  await check(Buffer.from('8002000100000000', 'hex'))
  await check(Buffer.from('0000000000000000', 'hex'))
  await check(Buffer.from('80030001ffffffff', 'hex'))
  await check(controlBytes(kinds.reset, [1]))
  await check(controlBytes(kinds.open, [1]))
  await check(openBytes(1, Buffer.from('garbage')))
  const good = new HeaderWriter()
  await check(openBytes(1, good.write(headerBlock({}))), openBytes(3, Buffer.from('garbage')))
})

test('invalid stream ids and excess SPDY streams are rejected', async () => {
  const { connection, running } = bare()
  const writer = new HeaderWriter()
  const open = (id: number): boolean => connection.write(openBytes(id, writer.write(headerBlock({}))))
  open(2)
  open(3)
  open(1)
  for (let count = 1; count <= streamsMax; count++) open(3 + count * 2)
  connection.end()
  const counts: Record<string, number> = {}
  for (const piece of parse(await connection.toArray())) {
    const control = piece.type === 'control' ? readControl(piece) : undefined
    const what = control?.type === 'reset' ? `${control.streamId} ${control.status}` : String(control?.type)
    counts[what] = (counts[what] ?? 0) + 1
  }
  assert.deepEqual(counts, {
    '2 1': 1,
    '1 1': 1,
    'reply': streamsMax,
    [`${3 + streamsMax * 2} 3`]: 1,
  })
  await running
})
