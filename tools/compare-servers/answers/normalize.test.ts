import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeBody, normalizeHeaders, warningsOf } from './normalize.ts'

const context = { address: '127.0.0.1:6443', path: '/api/v1/pods', sent: '' }

test('values that must differ between servers become placeholders', () => {
  const check = (body: unknown, expected: unknown, more = {}): void => {
    assert.deepEqual(normalizeBody(body, { ...context, ...more }), expected)
  }
  check({ uid: '0b0d1f5e-7c1a-4a55-9b93-0a3f4a1d2c3e' }, { uid: '<uid>' })
  check({ resourceVersion: '123' }, { resourceVersion: '<resourceVersion>' })
  check({ resourceVersion: '0' }, { resourceVersion: '0' })
  check({ time: '2026-11-18T07:20:30Z' }, { time: '<time 0000-00-00T00:00:00Z>' })
  check({ time: '2026-11-18T07:20:30.123456Z' }, { time: '<time 0000-00-00T00:00:00.000000Z>' })
  check({ time: '2001-01-01T00:00:00Z' }, { time: '2001-01-01T00:00:00Z' })
  check(
    { clusterIP: '10.96.1.2', clusterIPs: ['10.96.1.2'] },
    { clusterIP: '<allocated>', clusterIPs: ['<allocated>'] },
  )
  check({ clusterIP: 'None' }, { clusterIP: 'None' })
  check({ clusterIP: '10.96.1.2' }, { clusterIP: '10.96.1.2' }, { sent: '{"clusterIP":"10.96.1.2"}' })
  check({ nodePort: 30_001 }, { nodePort: '<allocated>' })
  check({ name: 'a-x7k2p', generateName: 'a-' }, { name: 'a-<suffix>', generateName: 'a-' })
  check({ name: 'kube-api-access-x7k2p' }, { name: 'kube-api-access-<suffix>' })
  check({ address: '127.0.0.1:6443' }, { address: '<server>' })
  check({ cells: ['a', '5s'] }, { cells: ['a', '<age>'] })
  check({ gitVersion: 'v1.36.4', major: '1' }, { gitVersion: '<own>', major: '<own>' }, { path: '/version' })
  check('ResourceVersion in object meta: 252', 'ResourceVersion in object meta: <resourceVersion>')
  check(
    'Too large resource version: 9, current: 7',
    'Too large resource version: 9, current: <resourceVersion>',
  )
  check('too old resource version: 1 (635)', 'too old resource version: 1 (<resourceVersion>)')
  check(
    String.raw`Invalid value: "{\"resourceVersion\":\"204\"}"`,
    String.raw`Invalid value: "{\"resourceVersion\":\"<resourceVersion>\"}"`,
  )
  check({ continue: '' }, { continue: '' })
})

test('bookmarks are ignored, except for the one that ends the initial events', () => {
  const end = {
    type: 'BOOKMARK',
    object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
  }
  const events = [{ type: 'ADDED', object: {} }, { type: 'BOOKMARK', object: {} }, end]
  assert.deepEqual(normalizeBody(events, context), [{ type: 'ADDED', object: {} }, end])
})

test('headers are those that clients use, and only presence counts where values must differ', () => {
  const headers = {
    'content-type': 'application/json',
    'audit-id': 'x',
    'date': 'now',
    'content-length': '7',
  }
  assert.deepEqual(normalizeHeaders(headers), {
    'content-type': 'application/json',
    'audit-id': '<present>',
    'date': '<present>',
  })
  assert.deepEqual(warningsOf({ warning: '299 - "one, two", 299 - "three"' }), [
    '299 - "one, two"',
    '299 - "three"',
  ])
  assert.deepEqual(warningsOf({}), [])
})
