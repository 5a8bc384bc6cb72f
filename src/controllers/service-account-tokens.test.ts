import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { keyIdOf } from '#/base/json-web-key.ts'
import { decodeToken, signToken, verifyToken, type Claims } from '#/base/json-web-token.ts'
import { tokenReviews } from '#/api/generated/authentication/v1-resources.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import { namespaces, secrets, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { serviceAccountTokensController } from './service-account-tokens.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' })
const sign = (claims: Claims): string => signToken(claims, { privateKey, keyId: keyIdOf(privateKey) })

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  const controllers = [serviceAccountTokensController({ sign, caCertificate: 'PEM' })]
  const serviceAccountSettings = { url: 'https://cluster.test', signingKey }
  return startTestControlPlane(t, controllers, {
    authentication: { serviceAccounts: serviceAccountSettings },
  })
}

function tokenSecret(
  name: string,
  account = 'web',
  annotations: Readonly<Record<string, string>> = {},
): Secret {
  return {
    metadata: {
      namespace: 'default',
      name,
      annotations: { 'kubernetes.io/service-account.name': account, ...annotations },
    },
    type: 'kubernetes.io/service-account-token',
  }
}

async function tokenOf(plane: TestControlPlane, name: string): Promise<string> {
  const secret = (await plane.list(secrets)).find(each => each.metadata.name === name)
  return Buffer.from(secret?.data?.['token'] ?? '', 'base64').toString()
}

async function whoHas(plane: TestControlPlane, token: string): Promise<string | undefined> {
  const review = await plane.create(tokenReviews, { metadata: {}, spec: { token } })
  return review.status?.user?.username
}

test('a token secret gets a valid token until its service account is deleted', async t => {
  const plane = await start(t)
  await plane.create(serviceAccounts, { metadata: { namespace: 'default', name: 'web' } })
  await plane.create(secrets, tokenSecret('web-token'))
  const [secret] = await plane.list(secrets, 'default')
  assert.equal(secret?.data?.['namespace'], Buffer.from('default').toString('base64'))
  assert.equal(secret.data['ca.crt'], Buffer.from('PEM').toString('base64'))
  const token = await tokenOf(plane, 'web-token')
  assert.ok(verifyToken(decodeToken(token)!, createPublicKey(privateKey)))
  assert.equal(await whoHas(plane, token), 'system:serviceaccount:default:web')
  await plane.run(plane.client.delete(serviceAccounts, { namespace: 'default', name: 'web' }))
  await plane.settle()
  assert.deepEqual(await plane.list(secrets, 'default'), [])
  assert.equal(await whoHas(plane, token), undefined)
})

test('a recreated service account does not get the tokens of its predecessor', async t => {
  const plane = await start(t)
  const account = { metadata: { namespace: 'default', name: 'web' } }
  await plane.create(serviceAccounts, account)
  await plane.create(secrets, tokenSecret('web-token'))
  await plane.run(plane.client.delete(serviceAccounts, { namespace: 'default', name: 'web' }))
  await plane.run(plane.client.create(serviceAccounts, account))
  await plane.settle()
  assert.deepEqual(await plane.list(secrets, 'default'), [])
})

test('a token secret of a missing or replaced service account is deleted', async t => {
  const plane = await start(t)
  await plane.create(serviceAccounts, { metadata: { namespace: 'default', name: 'web' } })
  await plane.create(secrets, tokenSecret('nobody', 'stranger'))
  await plane.create(secrets, tokenSecret('old', 'web', { 'kubernetes.io/service-account.uid': 'another' }))
  await plane.create(secrets, { metadata: { namespace: 'default', name: 'opaque' } })
  const names = (await plane.list(secrets, 'default')).map(secret => secret.metadata.name)
  assert.deepEqual(names, ['opaque'])
})

test('the reference to a deleted token is removed from its service account, others stay', async t => {
  const plane = await start(t)
  await plane.create(serviceAccounts, {
    metadata: { namespace: 'default', name: 'web' },
    secrets: [{ name: 'web-token' }, { name: 'not-there-yet' }],
  })
  await plane.create(secrets, tokenSecret('web-token'))
  await plane.run(plane.client.delete(secrets, { namespace: 'default', name: 'web-token' }))
  await plane.settle()
  const [account] = await plane.list(serviceAccounts, 'default')
  assert.deepEqual(account?.secrets, [{ name: 'not-there-yet' }])
})

test('a removed token is recreated, and a complete secret is not written again', async t => {
  const plane = await start(t)
  await plane.create(namespaces, { metadata: { name: 'other' } })
  await plane.create(serviceAccounts, { metadata: { namespace: 'default', name: 'web' } })
  await plane.create(secrets, tokenSecret('web-token'))
  const before = await tokenOf(plane, 'web-token')
  const [filled] = await plane.list(secrets, 'default')
  await plane.advance(3_600_000)
  const [later] = await plane.list(secrets, 'default')
  assert.equal(later?.metadata.resourceVersion, filled?.metadata.resourceVersion)
  await plane.change(secrets, 'default/web-token', secret => ({ ...secret, data: {} }))
  const after = await tokenOf(plane, 'web-token')
  assert.notEqual(after, '')
  assert.equal(await whoHas(plane, after), 'system:serviceaccount:default:web')
  assert.ok(before !== '')
})
