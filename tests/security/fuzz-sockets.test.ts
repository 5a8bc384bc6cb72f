/**
 * A part of the fuzz test over real connections: TLS with every certificate, HTTP/1.1 as bytes, HTTP/2 as
 * frames.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { after, before, test } from 'node:test'
import { Server } from '#/apiserver/server.ts'
import { serveHttp } from '#/platform/node.ts'
import { Draw } from './fuzz/draw.ts'
import { drawHeaders } from './fuzz/headers.ts'
import { mark, marked } from './fuzz/objects.ts'
import { drawMethod, drawPath, drawQuery } from './fuzz/paths.ts'
import { startFuzzedServer, type FuzzedServer } from './fuzz/server.ts'
import { drawToken } from './fuzz/tokens.ts'

const errors: string[] = []
let fuzzed: FuzzedServer
let server: Server

before(async () => {
  fuzzed = await startFuzzedServer(error => void errors.push(error))
  const { authority, frontProxyAuthority, server: own } = fuzzed.certificates
  server = await Server.start({
    platform: fuzzed.platform,
    serveHttp,
    host: '127.0.0.1',
    port: 0,
    handle: fuzzed.handle,
    tls: { cert: own.cert, key: own.key, clientCa: `${authority}${frontProxyAuthority}` },
  })
})

after(async () => {
  await server.stop(1_000)
  await fuzzed.stop()
})

interface Pair {
  readonly cert: string
  readonly key: string
}

async function open(pair?: Pair): Promise<TLSSocket> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: server.address.port,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...pair,
  })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

/** The server's output for these bytes until it closes the connection, or is silent for some time. */
async function talk(
  bytes: string | Uint8Array,
  { pair, silenceMsMax = 0 }: { readonly pair?: Pair; readonly silenceMsMax?: number } = {},
): Promise<string> {
  const socket = await open(pair)
  let said = ''
  socket.setTimeout(silenceMsMax, () => socket.destroy())
  socket.on('data', chunk => {
    said += chunk.toString('latin1')
  })
  socket.write(bytes)
  if (!socket.destroyed) await new Promise(resolve => socket.once('close', resolve))
  return said
}

/** For incomplete requests, of which the server awaits the rest. */
const silenceMsMax = 300

function statusesIn(said: string): readonly number[] {
  return [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
}

async function eachAtOnce<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  const rest = [...values]
  const one = async (): Promise<void> => {
    for (let value = rest.pop(); value !== undefined; value = rest.pop()) await work(value)
  }
  await Promise.all(Array.from({ length: 32 }, one))
}

test('client certificates authenticate their subject only', async t => {
  const { pairs } = fuzzed.certificates
  t.diagnostic(`${pairs.length} certificates`)
  await eachAtOnce(pairs, async pair => {
    const both = `GET /api HTTP/1.1\r\nhost: x\r\n\r\nGET ${marked} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
    const expected = { anonymous: /^40[13] 40[13]$/, nobody: /^200 403$/, administrator: /^200 200$/ }[
      pair.who
    ]
    assert.match(statusesIn(await talk(both, { pair })).join(' '), expected, pair.what)
  })
  assert.deepEqual(errors, [])
})

/** Allows only public responses: health and version. */
function checkHarmless(said: string, what: string): void {
  assert.ok(!said.includes(mark), `${what} shows an object: ${said.slice(0, 1_000)}`)
  for (const answer of said.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    const [status = 0] = statusesIn(answer)
    assert.ok(status < 500 || status === 505, `${what}: ${answer.slice(0, 1_000)}`)
    const isPublic = /\r\n\r\n(?:$|ok|[0-9a-f]+\r\nok|[\s\S]{0,10}\{\s+"major")/.test(answer)
    assert.ok(status < 200 || status >= 300 || isPublic, `${what}: ${answer.slice(0, 1_000)}`)
  }
}

test('malformed HTTP/1.1 requests disclose no object and cause no server error', async () => {
  const seeds = Array.from({ length: 1_500 }, (_, index) => index)
  await eachAtOnce(seeds, async seed => {
    const draw = new Draw(seed)
    const headers = Object.entries({
      ...drawHeaders(draw),
      ...(draw.oneIn(3) && { authorization: `Bearer ${drawToken(draw, 'e30.e30.e30')}` }),
    })
    const lines = headers.map(([name, value]) => `${name}: ${value}`)
    const version = draw.one(['1.1', '1.1', '1.1', '1.0', '2.0', '0.9', ''])
    const head = `${drawMethod(draw)} ${drawPath(draw)}${drawQuery(draw)} HTTP/${version}`
    const whole = [
      head,
      'host: x',
      'connection: close',
      ...lines,
      '',
      draw.oneIn(4) ? draw.text(100) : '',
    ].join('\r\n')
    const bytes = draw.oneIn(4)
      ? draw.mutateBytes(Buffer.from(whole, 'latin1'))
      : Buffer.from(whole, 'latin1')
    checkHarmless(
      await talk(bytes, { silenceMsMax }),
      `seed ${seed} ${bytes.toString('latin1').slice(0, 500)}`,
    )
  })
  assert.deepEqual(errors, [])
})

test('malformed HTTP/2 requests disclose no object and cause no server error', async () => {
  const session = connectHttp2(`https://127.0.0.1:${server.address.port}`, { rejectUnauthorized: false })
  session.on('error', () => undefined)
  let answered = 0
  const seeds = Array.from({ length: 1_500 }, (_, index) => index)
  await eachAtOnce(seeds, async seed => {
    const draw = new Draw(seed)
    const path = `${drawPath(draw)}${drawQuery(draw)}`
    const answer = await askHttp2(session, {
      ...drawHeaders(draw),
      ':method': drawMethod(draw),
      ':path': path,
    })
    if (answer === undefined) return
    const { status, text } = answer
    answered++
    assert.ok(status < 500, `seed ${seed}: ${path} ${status}`)
    assert.ok(!text.includes(mark), `seed ${seed}`)
    const isPublic = /^(?:|ok|\{\s+"major"[\s\S]*)$/.test(text)
    assert.ok(status >= 300 || isPublic, `seed ${seed}: ${path} ${status} ${text.slice(0, 300)}`)
  })
  session.destroy()
  assert.ok(answered > 500, `${answered} answers`)
  assert.deepEqual(errors, [])
})

/**
 * Undefined when there is no response: the client itself validates headers, and the server may reset a
 * stream.
 */
async function askHttp2(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  let stream: ClientHttp2Stream
  try {
    stream = session.request(headers)
  } catch {
    return undefined
  }
  const closed = new Promise(resolve => stream.once('close', resolve))
  let status = 0
  let text = ''
  stream.on('error', () => undefined)
  stream.on('response', answer => {
    status = answer[':status'] ?? 0
  })
  stream.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  stream.end()
  await closed
  return status === 0 ? undefined : { status, text }
}

test('the server is ready after all malformed requests', async () => {
  assert.match(
    await talk('GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 [\s\S]*ok/,
  )
})
