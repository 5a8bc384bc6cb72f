import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTokenServer } from './testdata/token-server.ts'

const token = 'abcdef.0123456789abcdef'

/** Data of a valid bootstrap token secret, which test cases modify. */
const good = {
  'token-id': 'abcdef',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
}

test('a bootstrap token authenticates as its secret specifies', async t => {
  const { request, whoHas } = await startTokenServer(t)
  const url = '/api/v1/namespaces/kube-system/secrets'
  const check = async (
    stringData: Record<string, string>,
    groups: readonly string[] | undefined,
    type = 'bootstrap.kubernetes.io/token',
  ) => {
    const body = { metadata: { name: 'bootstrap-token-abcdef' }, type, stringData }
    const made = await request('POST', url, { body })
    assert.equal(made.code, 201, made.text)
    const user = await whoHas(token)
    assert.deepEqual(
      user,
      groups ? { username: 'system:bootstrap:abcdef', groups } : 'invalid bearer token',
      JSON.stringify(stringData),
    )
    assert.equal((await request('DELETE', `${url}/bootstrap-token-abcdef`)).code, 200)
    assert.equal(await whoHas(token), 'invalid bearer token')
  }
  await check(good, ['system:bootstrappers'])
  await check({ ...good, 'auth-extra-groups': 'system:bootstrappers:b,system:bootstrappers:a' }, [
    'system:bootstrappers',
    'system:bootstrappers:a',
    'system:bootstrappers:b',
  ])
  await check({ ...good, 'auth-extra-groups': 'system:masters' }, undefined)
  await check({ ...good, 'auth-extra-groups': 'system:bootstrappers:a,' }, undefined)
  await check({ ...good, 'usage-bootstrap-authentication': 'yes' }, undefined)
  await check({ ...good, 'token-secret': 'fedcba9876543210' }, undefined)
  await check({ ...good, 'token-id': 'ghijkl' }, undefined)
  await check({ ...good, expiration: '2020-01-01T00:00:00Z' }, undefined)
  await check({ ...good, expiration: 'tomorrow' }, undefined)
  await check({ ...good, expiration: '2999-01-01T00:00:00Z' }, ['system:bootstrappers'])
  await check(good, undefined, 'Opaque')
})

test('a bootstrap token expires at the expiration of its secret', async t => {
  const { request, whoHas, advance, platform } = await startTokenServer(t)
  const expiration = new Date(platform.clock.now() + 60_000).toISOString()
  const body = {
    metadata: { name: 'bootstrap-token-abcdef' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: { ...good, expiration },
  }
  assert.equal((await request('POST', '/api/v1/namespaces/kube-system/secrets', { body })).code, 201)
  assert.equal(typeof (await whoHas(token)), 'object')
  advance(60_001)
  assert.equal(await whoHas(token), 'invalid bearer token')
})

test('malformed bootstrap tokens are ignored', async t => {
  const { whoHas } = await startTokenServer(t)
  const texts = [
    'abcdef',
    'ABCDEF.0123456789abcdef',
    'abcdef.0123456789abcde',
    `${token}\n`,
    `${token}0`,
    '../../x.0123456789abcdef',
  ]
  for (const text of texts) assert.equal(await whoHas(text), 'invalid bearer token')
})
