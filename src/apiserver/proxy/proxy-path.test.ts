import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitProxyPath } from './proxy-path.ts'

test('the proxied path is forwarded unescaped and never leaves the root', () => {
  const check = (path: string, rest: string, prefix = '/api/v1/nodes/n/proxy'): void => {
    assert.deepEqual(splitProxyPath(path, 5), { prefix, rest }, path)
  }
  check('/api/v1/nodes/n/proxy', '')
  check('/api/v1/nodes/n/proxy/', '/')
  check('/api/v1/nodes/n/proxy/a/b/', '/a/b/')
  check('/api/v1/nodes/n/proxy/a%2Fb//c', '/a%2Fb//c')
  check('/api/v1/nodes/n/proxy/a/../b', '/b')
  check('/api/v1/nodes/n/proxy/../../../secrets', '/secrets')
  check('/api/v1/nodes/n/proxy/%2e%2E/%2e/x', '/x')
  check('/api/v1/nodes/n/proxy/a/..', '/')
  check('/api/v1/nodes/n/proxy/a/.', '/a/')
  check('/api/v1/nodes/n/proxy/...', '/...')
  check('/api/v1/nodes/n/proxy/a b#c?\xe9', '/a%20b%23c%3F%E9')
  check('//api/v1//nodes/n/proxy//x', '//x', '//api/v1//nodes/n/proxy')
})

test('splitting a proxy path takes linear time', () => {
  const path = `/api/v1/nodes/n/proxy${'/..'.repeat(100_000)}/x`
  assert.equal(splitProxyPath(path, 5).rest, '/x')
})
