import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { decodeToken } from '#/base/json-web-token.ts'
import { pods, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { isNamespaced, type KubeletPod } from '../kubelet-pod.ts'
import { renewalMs, ServiceAccountTokens } from './service-account-tokens.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' })

async function start(t: TestContext) {
  const plane = await startTestControlPlane(t, [], {
    authentication: { serviceAccounts: { url: 'https://cluster.test', signingKey } },
  })
  const client = plane.clientAs('system:node:n1', ['system:nodes'])
  const tokens = new ServiceAccountTokens({ platform: plane.platform, client })
  await plane.create(serviceAccounts, { metadata: { namespace: 'default', name: 'web' } })
  return { plane, tokens, pod: await createPod(plane, 'pod', 'n1') }
}

async function createPod(plane: TestControlPlane, name: string, nodeName: string): Promise<KubeletPod> {
  const pod = await plane.create(pods, {
    metadata: { namespace: 'default', name },
    spec: { containers: [{ name: 'main', image: 'image' }], serviceAccountName: 'web', nodeName },
  })
  assert.ok(isNamespaced(pod))
  return pod
}

const hourMs = 3_600_000

test('a token is bound to its pod and reused for 80% of its lifetime', async t => {
  const { plane, tokens, pod } = await start(t)
  const { uid } = pod.metadata
  assert.equal(tokens.nextRenewalMs(uid), undefined)
  const first = await plane.run(tokens.get(pod, { path: 'token', audience: 'vault' }))
  const claims = decodeToken(first)?.claims
  assert.deepEqual(claims?.['aud'], ['vault'])
  const bound = claims?.['kubernetes.io'] as { readonly pod?: { readonly uid?: string } }
  assert.equal(bound.pod?.uid, uid)
  const leftMs = tokens.nextRenewalMs(uid) ?? 0
  assert.ok(leftMs <= 0.8 * hourMs && leftMs >= 0.8 * hourMs - 20_000, String(leftMs))
  await plane.advance(leftMs - 1_000)
  assert.equal(await plane.run(tokens.get(pod, { path: 'token', audience: 'vault' })), first)
  await plane.advance(2_000)
  assert.equal(tokens.nextRenewalMs(uid), 0)
  const second = await plane.run(tokens.get(pod, { path: 'token', audience: 'vault' }))
  assert.notEqual(second, first)
  assert.ok((tokens.nextRenewalMs(uid) ?? 0) > 0.7 * hourMs)
  tokens.forget(uid)
  assert.equal(tokens.nextRenewalMs(uid), undefined)
})

test('a token is cached by audience and expiration', async t => {
  const { plane, tokens, pod } = await start(t)
  const get = (audience?: string, expirationSeconds?: number): Promise<string> => {
    const wanted = {
      path: 'token',
      ...(audience && { audience }),
      ...(expirationSeconds && { expirationSeconds }),
    }
    return plane.run(tokens.get(pod, wanted))
  }
  const all = [
    await get(),
    await get('a'),
    await get('a', 7_200),
    await get('b'),
    await get(),
    await get('a'),
  ]
  assert.equal(new Set(all).size, 4)
})

test('the old token is used until it expires when renewal fails', async t => {
  const { plane, tokens, pod } = await start(t)
  const { uid } = pod.metadata
  const first = await plane.run(tokens.get(pod, { path: 'token' }))
  await plane.run(plane.client.delete(serviceAccounts, { namespace: 'default', name: 'web' }))
  await plane.advance(0.9 * hourMs)
  assert.equal(await plane.run(tokens.get(pod, { path: 'token' })), first)
  assert.ok((tokens.nextRenewalMs(uid) ?? 0) > 0, 'it is not tried again at once')
  await plane.advance(0.2 * hourMs)
  await assert.rejects(
    plane.run(tokens.get(pod, { path: 'token' })),
    /token expired and refresh failed: serviceaccounts "web" not found/,
  )
})

test('requesting a token fails for a missing service account and for a pod of another node', async t => {
  const { plane, tokens, pod } = await start(t)
  const { spec = { containers: [] } } = pod
  const stranger: KubeletPod = { ...pod, spec: { ...spec, serviceAccountName: 'none' } }
  await assert.rejects(plane.run(tokens.get(stranger, { path: 'token' })), /^Error: failed to fetch token: /)
  const other = await createPod(plane, 'other', 'n2')
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'pod' }, { gracePeriodSeconds: 0 }))
  await plane.settle()
  await assert.rejects(
    plane.run(tokens.get(other, { path: 'token' })),
    /failed to fetch token: .*no relationship found between node 'n1' and this object/,
  )
})

const renewals: readonly (readonly [lifeHours: number, ageHours: number])[] = [
  [1, 0.8],
  [10, 8],
  [30, 24],
  [365 * 24, 24],
]

test('a token is renewed at 80% of its lifetime, at most after a day', () => {
  for (const [lifeHours, ageHours] of renewals) {
    const issuedMs = 1_000_000
    const lifeMs = lifeHours * hourMs
    assert.equal(renewalMs({ expiresMs: issuedMs + lifeMs, lifeMs }) - issuedMs, ageHours * hourMs)
  }
})
