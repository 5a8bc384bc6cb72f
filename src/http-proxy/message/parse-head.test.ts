import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequestHead, parseResponseHead, parseTrailers } from './parse-head.ts'

/** `METHOD target hostname|body length|flags|fields`, or the status of the refusal. */
function describe(...lines: readonly string[]): string {
  const head = parseRequestHead(`${lines.join('\r\n')}\r\n`)
  if ('refusal' in head) return String(head.refusal)
  const flags = [
    head.isKeptAlive && 'kept',
    head.isHttp10 && '1.0',
    head.upgrade,
    head.expects,
    head.acceptsTrailers && 'trailers',
  ]
  const parts = [head.bodyLength, flags.filter(Boolean).join(), head.fields.join()]
  return `${head.method} ${head.target} ${head.hostname}|${parts.join('|')}`
}

test('a request head is read strictly', () => {
  const cases: readonly (readonly [expected: string, ...lines: readonly string[]])[] = [
    ['GET / a|0|kept|x,1', 'GET / HTTP/1.1', 'Host: A', 'X: 1'],
    ['GET / a|0||', 'GET / HTTP/1.1', 'Host: a:80', 'Connection: close'],
    ['GET / [::1]|0|kept|', 'GET / HTTP/1.1', 'Host: [::1]:80'],
    ['GET / a|0|kept|', 'GET / HTTP/1.1', 'Host: a.', 'Keep-Alive: 5', 'Proxy-Connection: close'],
    ['GET /x?y b|0|kept|', 'GET http://b:8080/x?y HTTP/1.1', 'Host: a'],
    ['GET / b|0|kept|', 'GET http://b HTTP/1.1', 'Host: a'],
    ['GET /?x b|0|kept|', 'GET http://b?x HTTP/1.1', 'Host: a'],
    ['OPTIONS * a|0|kept|', 'OPTIONS * HTTP/1.1', 'Host: a'],
    ['POST / a|5|kept|', 'POST / HTTP/1.1', 'Host: a', 'Content-Length: 5'],
    ['POST / a|-1|kept|', 'POST / HTTP/1.1', 'Host: a', 'transfer-encoding: Chunked'],
    ['GET / |0|1.0|', 'GET / HTTP/1.0'],
    ['GET / a|0|kept,1.0|', 'GET / HTTP/1.0', 'Host: a', 'Connection: Keep-Alive'],
    [
      'GET / a|0|kept,websocket|',
      'GET / HTTP/1.1',
      'Host: a',
      'Connection: x, Upgrade',
      'Upgrade: websocket',
    ],
    ['GET / a|0|kept|', 'GET / HTTP/1.1', 'Host: a', 'Upgrade: websocket'],
    ['GET / a|0|kept|b,2', 'GET / HTTP/1.1', 'Host: a', 'Connection: A', 'A: 1', 'B: 2'],
    [
      'PUT / a|1|kept,100-continue|',
      'PUT / HTTP/1.1',
      'Host: a',
      'Content-Length: 1',
      'Expect: 100-Continue',
    ],
    ['GET / a|0|kept,trailers|', 'GET / HTTP/1.1', 'Host: a', 'TE: gzip, trailers'],
    ['GET /c a|0|kept|', 'GET /a/../b/%2e%2E/./c HTTP/1.1', 'Host: a'],
    ['GET / a|0|kept|', 'GET /../.. HTTP/1.1', 'Host: a'],
    ['GET /a//b/.c a|0|kept|', 'GET /a//b/.c HTTP/1.1', 'Host: a'],
    ['GET / a|0|kept|x,\xe9', 'GET / HTTP/1.1', 'Host: a', 'X: \xe9'],
    ['400', 'GET / HTTP/1.1', 'Host: a', 'Host: a'],
    ['400', 'GET / HTTP/1.1', 'Host: a b'],
    ['400', 'GET https://a@b/ HTTP/1.1', 'Host: a'],
    ['400', 'GET ftp://a/ HTTP/1.1', 'Host: a'],
    ['400', 'GET * HTTP/1.1', 'Host: a'],
    ['505', 'GET / HTTP/3.0', 'Host: a'],
  ]
  for (const [expected, ...lines] of cases) assert.equal(describe(...lines), expected, lines.join(' | '))
})

test('a response head tells the length of its body', () => {
  const cases: readonly (readonly [expected: string, method: string, text: string])[] = [
    ['200 5 kept', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n'],
    ['200 -1 kept', 'GET', 'HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n'],
    ['200 -2', 'GET', 'HTTP/1.1 200\r\n'],
    ['200 0 kept declares 5', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n'],
    ['204 0 kept', 'GET', 'HTTP/1.1 204 No Content\r\n'],
    ['304 0 kept declares 5', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n'],
    ['101 0', 'GET', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n'],
    ['200 5', 'GET', 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n'],
    ['200 5', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n'],
    ['malformed', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n'],
    ['malformed', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n'],
    ['malformed', 'GET', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n'],
    ['malformed', 'GET', 'HTTP/1.1 099 OK\r\n'],
    ['malformed', 'GET', 'HTTP/1.1 200 OK\nX: 1\r\n'],
    ['malformed', 'GET', 'ICY 200 OK\r\n'],
  ]
  for (const [expected, method, text] of cases) {
    const head = parseResponseHead(text, method)
    const declared = head?.declaredLength === undefined ? '' : ` declares ${head.declaredLength}`
    const kept = head?.isKeptAlive ? ' kept' : ''
    assert.equal(head ? `${head.status} ${head.bodyLength}${kept}${declared}` : 'malformed', expected, text)
  }
})

test('trailers leave out fields of framing', () => {
  assert.deepEqual(parseTrailers('X: 1\r\nContent-Length: 5\r\nHost: a\r\n'), ['x', '1'])
  assert.equal(parseTrailers('X 1\r\n'), undefined)
})
