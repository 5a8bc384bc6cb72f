import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestHeaders, requestPath } from './http-probe.ts'

test('probe paths are escaped to valid request targets', () => {
  const cases: Readonly<Record<string, string>> = {
    '': '/',
    '/': '/',
    'healthz': '/healthz',
    '/a/../b?c=d&e': '/a/../b?c=d&e',
    '/a#b': '/a',
    '/a b\r\nHost: evil': '/a%20b%0D%0AHost:%20evil',
    '/%41%zz': '/%41%25zz',
    '/ä': '/%C3%A4',
    '/\ud800': '/%EF%BF%BD',
    'http://elsewhere:80/a?b': '/a?b',
    '//elsewhere/a': '/a',
    '/a//b': '/a//b',
  }
  for (const [path, expected] of Object.entries(cases)) assert.equal(requestPath(path), expected, path)
})

test('probe headers are those of the spec plus defaults', () => {
  const headers = (...pairs: readonly [string, string][]): Record<string, unknown> => {
    return {
      ...requestHeaders(
        pairs.map(([name, value]) => ({ name, value })),
        'probe',
      ),
    }
  }
  const usual = { 'user-agent': 'kube-probe/1.36', 'accept': '*/*' }
  assert.deepEqual(headers(), usual)
  assert.deepEqual(headers(['User-Agent', 'me'], ['ACCEPT', 'a/b']), { 'user-agent': 'me', 'accept': 'a/b' })
  assert.deepEqual(headers(['Accept', '']), { 'user-agent': 'kube-probe/1.36' })
  assert.deepEqual(headers(['User-Agent', '']), { 'user-agent': '', 'accept': '*/*' })
  assert.deepEqual(headers(['A', '1'], ['a', '2'], ['A', '3']), { ...usual, a: ['1', '2', '3'] })
  assert.deepEqual(headers(['Host', 'x'], ['host', 'y']), { ...usual, host: 'x' })
  assert.deepEqual(headers(['__proto__', 'x'])['user-agent'], 'kube-probe/1.36')
})
