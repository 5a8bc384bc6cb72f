import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDeniedRequest, findUnresolvedName } from './log-hints.ts'

test('the message of every resolver names what was not resolved', () => {
  const lines: readonly (readonly [line: string, name: string | undefined, isAnswered?: true])[] = [
    ['dial tcp: lookup db.shop.svc on 10.96.0.10:53: no such host', 'db.shop.svc', true],
    ['dial tcp: lookup db on 10.96.0.10:53: read udp 10.0.0.1:1->10.96.0.10:53: i/o timeout', 'db'],
    ['Error: getaddrinfo EAI_AGAIN db', 'db'],
    ['Error: getaddrinfo ENOTFOUND db.shop', 'db.shop', true],
    ['curl: (6) Could not resolve host: db', 'db'],
    ["wget: bad address 'db:80'", 'db'],
    ["** server can't find db.default.svc.cluster.local: NXDOMAIN", 'db.default.svc.cluster.local', true],
    ['psql: error: could not translate host name "db" to address', 'db'],
    ['java.net.UnknownHostException: db', 'db'],
    [';; connection timed out; no servers could be reached', undefined],
    ['socket.gaierror: [Errno -3] Temporary failure in name resolution', undefined],
  ]
  for (const [line, name, isAnswered = false] of lines) {
    assert.deepEqual(findUnresolvedName(['first', line, 'last']), { name, line, isAnswered }, line)
  }
  assert.equal(findUnresolvedName(['lookup of product 7 took 3 ms', 'not found']), undefined)
})

test('a message of the authorizer becomes the request, also inside JSON', () => {
  const message =
    'deployments.apps is forbidden: User "system:serviceaccount:a:b" cannot list resource "deployments" ' +
    'in API group "apps" in the namespace "shop"'
  const request = {
    user: 'system:serviceaccount:a:b',
    verb: 'list',
    resource: 'deployments',
    group: 'apps',
    namespace: 'shop',
  }
  assert.deepEqual(findDeniedRequest(message), request)
  assert.deepEqual(findDeniedRequest(JSON.stringify({ message })), request)
  const wide =
    'nodes is forbidden: User "x" cannot list resource "nodes" in API group "" at the cluster scope'
  assert.deepEqual(findDeniedRequest(wide), {
    user: 'x',
    verb: 'list',
    resource: 'nodes',
    group: '',
    namespace: undefined,
  })
  assert.equal(findDeniedRequest('User "x" cannot log in'), undefined)
})
