/** Requests that two implementations could understand differently are refused, and never reach a backend. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { backendAt, configurationOf, exchangeRaw, startProxy, startRawBackend } from './test-proxy.ts'

const cases: readonly (readonly [name: string, request: string, status: number])[] = [
  ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd', 400],
  [
    'a repeated length',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc',
    400,
  ],
  ['a list of lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc', 400],
  ['a signed length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc', 400],
  ['a hexadecimal length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc', 400],
  ['an empty length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n', 400],
  ['a huge length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n', 400],
  [
    'length and coding',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
  ],
  ['two codings', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n', 400],
  [
    'a repeated coding',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
  ],
  ['an unknown coding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n', 400],
  ['a coding of HTTP/1.0', 'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  [
    'a coding with a vertical tab',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n',
    400,
  ],
  ['a space before the colon', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc', 400],
  ['a folded line', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n', 400],
  ['a folded first line', 'GET / HTTP/1.1\r\n Host: a\r\n\r\n', 400],
  ['a bare LF', 'GET / HTTP/1.1\nHost: a\n\n', 400],
  ['a bare LF between fields', 'GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n', 400],
  ['a bare CR', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n', 400],
  ['a NUL', 'GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n', 400],
  ['a field without a colon', 'GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n', 400],
  ['a field without a name', 'GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n', 400],
  ['an invalid name', 'GET / HTTP/1.1\r\nHost: a\r\nX(1): 1\r\n\r\n', 400],
  ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['an invalid host', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
  ['a host with user', 'GET http://user@a/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['a relative target', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['a fragment', 'GET /#a HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['two spaces', 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['a method that is no token', 'G@T / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['HTTP/0.9', 'GET /\r\n\r\n', 400],
  ['HTTP/2 in HTTP/1', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
  ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n', 417],
]

/** Chunked bodies; the head is accepted. */
const bodies: readonly (readonly [name: string, body: string])[] = [
  ['a bare LF after the size', '3\nabc\r\n0\r\n\r\n'],
  ['a missing CR LF after the data', '3\r\nabcd\r\n0\r\n\r\n'],
  ['a size with 0x', '0x3\r\nabc\r\n0\r\n\r\n'],
  ['a signed size', '-3\r\nabc\r\n0\r\n\r\n'],
  ['a size with a space', '3 \r\nabc\r\n0\r\n\r\n'],
  ['an empty size', '\r\nabc\r\n0\r\n\r\n'],
  ['a huge size', `${'f'.repeat(20)}\r\nabc`],
  ['a control character in an extension', '3;a\x00b\r\nabc\r\n0\r\n\r\n'],
  ['a bare LF in an extension', '3;a\nb\r\nabc\r\n0\r\n\r\n'],
  ['a malformed trailer', '0\r\nX Y: 1\r\n\r\n'],
  ['a folded trailer', '0\r\nX: 1\r\n Y: 2\r\n\r\n'],
]

test('an ambiguous request is refused, and the connection closed', async t => {
  let reached = 0
  const backend = await startRawBackend(t, () => reached++)
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  for (const [name, request, status] of cases) {
    const answer = await exchangeRaw(port, request)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} [^]*connection: close`), name)
    assert.equal(answer.split('HTTP/1.1 ').length, 2, name)
  }
  assert.equal(reached, 0)
})

test('a malformed chunked body ends the request to the backend, which never sees its end', async t => {
  const received: string[] = []
  const backend = await startRawBackend(t, socket => {
    const index = received.push('') - 1
    socket.on('data', bytes => (received[index] += bytes.toString('latin1')))
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  for (const [name, body] of bodies) {
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    assert.match(await exchangeRaw(port, head + body), /^HTTP\/1.1 400 /, name)
  }
  for (const each of received) assert.doesNotMatch(each, /\r\n0\r\n\r\n$/)
})

test('whatever a client sends, a backend receives whole requests with one interpretation', async t => {
  const pieces = [
    'POST / HTTP/1.1\r\n|GET /smuggled HTTP/1.1\r\n|Host: a\r\n|Content-Length: 5\r\n|Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n|Transfer-Encoding:\tchunked\r\n|X: y\r\n|Connection: close\r\n',
    '\r\n|0\r\n\r\n|5\r\nhello\r\n|hello|\r|\n| |;|\x00',
  ].flatMap(each => each.split('|'))
  const errors: string[] = []
  const backend = await startRawBackend(t, socket => {
    let received = ''
    socket.on('data', bytes => {
      received += bytes.toString('latin1')
      for (;;) {
        const request = wholeRequest.exec(received)
        if (request === null) break
        received = received.slice(request[0].length)
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      }
    })
    socket.on('close', () => {
      if (received !== '' && !partialRequest.test(received)) errors.push(received)
    })
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }), {
    headerTimeoutMs: 1,
    stallTimeoutMs: 1,
    idleTimeoutMs: 1,
  })
  const random = new SeededRandom('smuggling')
  const draw = (count: number): number => random.integer(count)
  for (let round = 0; round < 3; round++) {
    const requests = Array.from({ length: 200 }, () => {
      const first = draw(2) === 0 ? 'POST / HTTP/1.1\r\nHost: a\r\n' : ''
      return first + Array.from({ length: 1 + draw(8) }, () => pieces[draw(pieces.length)]).join('')
    })
    await Promise.all(requests.map(request => exchangeRaw(port, request)))
  }
  assert.deepEqual(errors, [])
})

const fields = String.raw`(?:[a-z-]+: [^\r\n]*\r\n)`
const head = String.raw`(?:POST|GET) /(?:smuggled)? HTTP/1\.1\r\nhost: a\r\n`
/** With exactly one kind of framing. */
const wholeRequest = new RegExp(
  `^${head}(?:(?!content-length|transfer-encoding)${fields})*` +
    String.raw`(?:content-length: 5\r\n\r\n[^]{5}|content-length: 0\r\n\r\n|\r\n` +
    String.raw`|transfer-encoding: chunked\r\n\r\n(?:5\r\n[^]{5}\r\n)*0\r\n(?:x: y\r\n)*\r\n)`,
)
const partialRequest = new RegExp(`^${head}${fields}*(?:\\r\\n|$)`)
