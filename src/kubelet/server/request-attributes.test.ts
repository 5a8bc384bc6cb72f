import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestAttributes } from './request-attributes.ts'

test('kubelet requests are authorized as verbs on subresources of the node', () => {
  const check = (request: string, expected: string): void => {
    const [method = '', path = ''] = request.split(' ')
    const { verb, subresources } = requestAttributes(method, path)
    assert.equal(`${verb} ${subresources.join(' or ')}`, expected, request)
  }
  check('GET /pods', 'get pods or proxy')
  check('GET /pods/', 'get pods or proxy')
  check('GET /podsx', 'get proxy')
  check('GET /runningpods/', 'get pods or proxy')
  check('GET /healthz', 'get healthz or proxy')
  check('GET /healthz/ping', 'get healthz or proxy')
  check('GET /configz', 'get configz or proxy')
  check('GET /stats/summary', 'get stats')
  check('GET /metrics', 'get metrics')
  check('GET /metrics/cadvisor', 'get metrics')
  check('GET /logs/x', 'get log')
  check('POST /checkpoint/a/b/c', 'create checkpoint')
  check('GET /containerLogs/a/b/c', 'get proxy')
  check('GET /debug/passes', 'get proxy')
  check('GET /exec/a/b/c', 'create proxy')
  check('POST /attach/a/b/c', 'create proxy')
  check('GET /portForward/a/b', 'create proxy')
  check('GET /run', 'create proxy')
  check('DELETE /x', 'delete proxy')
  check('PUT /x', 'update proxy')
  check('PATCH /x', 'patch proxy')
  check('OPTIONS /x', ' proxy')
  check('constructor /x', ' proxy')
})
