import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestHeaders, responseHeaders, upgradeHeaders } from './forwarded-headers.ts'

test('hop-by-hop headers and those named by Connection are not forwarded', () => {
  const headers = {
    ':method': 'GET',
    'connection': 'keep-alive, X-Secret',
    'expect': '100-continue',
    'host': 'api:6443',
    'keep-alive': 'timeout=5',
    'te': 'trailers',
    'transfer-encoding': 'chunked',
    'upgrade': 'h2c',
    'x-other': '1',
    'x-secret': '2',
  }
  assert.deepEqual(requestHeaders(headers, { clientAddress: '10.0.0.9', uri: '/p' }), {
    'host': 'api:6443',
    'x-forwarded-for': '10.0.0.9',
    'x-forwarded-uri': '/p',
    'x-other': '1',
  })
  const before = { 'x-forwarded-for': '10.0.0.8' }
  assert.deepEqual(requestHeaders(before, { clientAddress: '10.0.0.9' }), {
    'x-forwarded-for': '10.0.0.8, 10.0.0.9',
  })
})

test('forwarded responses keep separate cookies and drop CORS headers', () => {
  const headers = {
    'access-control-allow-origin': '*',
    'set-cookie': 'a=1, b=2',
    'etag': 'x',
    'connection': 'close',
  }
  assert.deepEqual(responseHeaders(headers, ['a=1', 'b=2']), { 'etag': 'x', 'set-cookie': ['a=1', 'b=2'] })
})

test('an upgrade response names the protocol', () => {
  const headers = { 'connection': 'Upgrade', 'upgrade': 'websocket', 'sec-websocket-accept': 'x' }
  assert.deepEqual(upgradeHeaders(headers), {
    'connection': 'Upgrade',
    'upgrade': 'websocket',
    'sec-websocket-accept': 'x',
  })
})
