import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps, namespaces, pods, secrets, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { formatTime } from '#/api/text/time.ts'
import { legacyTokenCleanerController } from './legacy-token-cleaner.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const hourMs = 3_600_000

const tracking = 'kube-apiserver-legacy-service-account-token-tracking'

/** The clock starts at the beginning of a day. */
async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, [legacyTokenCleanerController({ periodMs: hourMs })])
  await plane.change(configMaps, `kube-system/${tracking}`, map => ({
    ...map,
    data: { since: '2020-01-01' },
  }))
  await plane.create(namespaces, { metadata: { name: 'here' } })
  await plane.create(serviceAccounts, {
    metadata: { namespace: 'here', name: 'web' },
    secrets: [{ name: 'generated' }, { name: 'mounted' }],
  })
  for (const name of ['generated', 'mounted', 'by-hand']) {
    await plane.create(secrets, {
      metadata: { namespace: 'here', name, annotations: { 'kubernetes.io/service-account.name': 'web' } },
      type: 'kubernetes.io/service-account-token',
    })
  }
  await plane.create(pods, {
    metadata: { namespace: 'here', name: 'pod' },
    spec: {
      containers: [{ name: 'a', image: 'a' }],
      volumes: [{ name: 'token', secret: { secretName: 'mounted' } }],
    },
  })
  return plane
}

async function state(plane: TestControlPlane): Promise<readonly string[]> {
  return (await plane.list(secrets, 'here')).map(({ metadata }) => {
    const isMarked = metadata.labels?.['kubernetes.io/legacy-token-invalid-since'] !== undefined
    return `${metadata.name}${isMarked ? ' marked' : ''}`
  })
}

test('an unused auto-generated token is marked and later deleted, others stay', async t => {
  const plane = await start(t)
  await plane.advance(0.9 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'generated', 'mounted'])
  await plane.advance(0.2 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'generated marked', 'mounted'])
  await plane.run(plane.client.delete(pods, { namespace: 'here', name: 'pod' }, { gracePeriodSeconds: 0 }))
  // A day counts only after it has ended.
  await plane.advance(23 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'generated marked', 'mounted'])
  await plane.advance(2 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'mounted marked'])
})

test('a token in use stays, even if it was marked before', async t => {
  const plane = await start(t)
  const use = (): Promise<unknown> => {
    return plane.change(secrets, 'here/generated', ({ metadata, ...secret }) => {
      const today = formatTime(plane.platform.clock.now()).slice(0, 'yyyy-mm-dd'.length)
      const labels = { ...metadata.labels, 'kubernetes.io/legacy-token-last-used': today }
      return { ...secret, metadata: { ...metadata, labels } }
    })
  }
  await plane.advance(1.1 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'generated marked', 'mounted'])
  await plane.advance(23 * hourMs)
  await use()
  await plane.advance(10 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'generated marked', 'mounted'])
})

test('no token is deleted before usage is tracked', async t => {
  const plane = await start(t)
  await plane.run(plane.client.delete(configMaps, { namespace: 'kube-system', name: tracking }))
  await plane.advance(2 * hourMs)
  assert.deepEqual(await state(plane), ['by-hand', 'generated', 'mounted'])
})
