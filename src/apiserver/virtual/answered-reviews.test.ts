import assert from 'node:assert/strict'
import { test } from 'node:test'
import { part, startTestServer } from '../test-server.ts'

const authentication = '/apis/authentication.k8s.io/v1'
const authorization = '/apis/authorization.k8s.io/v1'
const metadata = { name: 'x', labels: { a: 'b' } }

test('reviews of the own user do not return the metadata that was sent', async t => {
  const { request } = await startTestServer(t)
  const self = await request('POST', `${authentication}/selfsubjectreviews`, { metadata })
  assert.deepEqual(Object.keys(self.body['metadata']), ['creationTimestamp'])
  const rules = await request('POST', `${authorization}/selfsubjectrulesreviews`, {
    metadata,
    spec: { namespace: 'default' },
  })
  assert.deepEqual(rules.body['metadata'], {})
})

test('a TokenReview that fails keeps the status that was sent, except for the authentication', async t => {
  const { request } = await startTestServer(t)
  const user = { username: 'root', groups: ['a'] }
  const sent = { authenticated: true, user, audiences: ['b'] }
  const { code, body } = await request('POST', `${authentication}/tokenreviews`, {
    metadata: { ...metadata, namespace: 'default' },
    spec: { token: 'abc' },
    status: sent,
  })
  assert.equal(code, 201)
  assert.deepEqual(part(body, 'status'), { user, audiences: ['b'], error: 'invalid bearer token' })
  const { name, namespace, managedFields } = body['metadata']
  assert.deepEqual([String(name), namespace, managedFields !== undefined], ['x', undefined, true])
})

test('an invalid access review is refused without naming its kind', async t => {
  const { request } = await startTestServer(t)
  const { body } = await request('POST', `${authorization}/subjectaccessreviews`, { spec: { user: 'eve' } })
  assert.match(body.message ?? '', /^\.authorization\.k8s\.io "" is invalid: spec\.resourceAttributes: /u)
})
