import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, ResourceQuota } from '#/api/generated/core/v1.ts'
import {
  configMaps,
  namespaces,
  nodes,
  pods,
  resourceQuotas,
  services,
} from '#/api/generated/core/v1-resources.ts'
import type { Resource } from '#/api/resource.ts'
import { resourceQuotaController } from './resource-quota.ts'
import { usualAdmission } from './test-admission.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

async function start(
  t: Parameters<typeof startTestControlPlane>[0],
  controllers = [resourceQuotaController],
): Promise<TestControlPlane> {
  return startTestControlPlane(t, controllers, { admission: await usualAdmission() })
}

function quotaOf(hard: Readonly<Record<string, string>>, name = 'quota'): ResourceQuota {
  return { metadata: { namespace: 'default', name }, spec: { hard } }
}

function podOf(name: string, more: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { namespace: 'default', name },
    spec: { containers: [{ name: 'a', image: 'a' }], ...more },
  }
}

async function usedOf(plane: TestControlPlane, name = 'quota'): Promise<unknown> {
  const quota = await plane.run(plane.client.get(resourceQuotas, { namespace: 'default', name }))
  return quota.status?.used
}

async function remove(plane: TestControlPlane, resource: Resource, name: string): Promise<void> {
  await plane.run(plane.client.delete(resource, { namespace: 'default', name }, { gracePeriodSeconds: 0 }))
  await plane.settle()
}

test('a new quota counts existing objects and follows changes', async t => {
  const plane = await start(t)
  await plane.create(namespaces, { metadata: { name: 'other' } })
  await plane.create(configMaps, { metadata: { namespace: 'default', name: 'a' } })
  await plane.create(configMaps, { metadata: { namespace: 'other', name: 'a' } })
  await plane.create(
    resourceQuotas,
    quotaOf({ 'configmaps': '3', 'count/deployments.apps': '2', 'pods': '5' }),
  )
  assert.deepEqual(await usedOf(plane), { 'configmaps': '1', 'count/deployments.apps': '0', 'pods': '0' })
  await plane.create(configMaps, { metadata: { namespace: 'default', name: 'b' } })
  await plane.create(pods, podOf('a'))
  assert.deepEqual(await usedOf(plane), { 'configmaps': '2', 'count/deployments.apps': '0', 'pods': '1' })
  await remove(plane, configMaps, 'a')
  await remove(plane, pods, 'a')
  assert.deepEqual(await usedOf(plane), { 'configmaps': '1', 'count/deployments.apps': '0', 'pods': '0' })
})

test('terminal pods and pods past their grace period free quota', async t => {
  const plane = await start(t)
  await plane.create(nodes, { metadata: { name: 'n1' } })
  await plane.create(resourceQuotas, quotaOf({ 'pods': '2', 'count/pods': '9' }))
  await plane.create(pods, podOf('done', { nodeName: 'n1' }))
  await plane.create(pods, podOf('lost', { nodeName: 'n1' }))
  await assert.rejects(
    plane.run(plane.client.create(pods, podOf('more'))),
    /exceeded quota: quota, requested: pods=1/,
  )
  await plane.changeStatus(pods, 'default/done', pod => ({
    ...pod,
    status: { ...pod.status, phase: 'Succeeded' },
  }))
  assert.deepEqual(await usedOf(plane), { 'pods': '1', 'count/pods': '2' })
  await plane.run(
    plane.client.delete(pods, { namespace: 'default', name: 'lost' }, { gracePeriodSeconds: 30 }),
  )
  await plane.advance(55_000)
  assert.deepEqual(await usedOf(plane), { 'pods': '1', 'count/pods': '2' })
  await plane.advance(10_000)
  assert.deepEqual(await usedOf(plane), { 'pods': '0', 'count/pods': '2' })
})

test('changed limits take effect at once, and new ones are counted', async t => {
  const plane = await start(t)
  await plane.create(services, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { type: 'NodePort', ports: [{ port: 80 }] },
  })
  await plane.create(resourceQuotas, quotaOf({ services: '4' }))
  await plane.change(resourceQuotas, 'default/quota', quota => ({
    ...quota,
    spec: { hard: { 'services': '3', 'services.nodeports': '1' } },
  }))
  const [quota] = await plane.list(resourceQuotas, 'default')
  assert.deepEqual(quota?.status?.hard, { 'services': '3', 'services.nodeports': '1' })
  // The namespace also has the API server's own service.
  assert.deepEqual(quota.status.used, { 'services': '2', 'services.nodeports': '1' })
})

test('stale charges are released after all requests must have ended', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ configmaps: '3' }))
  await plane.create(configMaps, { metadata: { namespace: 'default', name: 'a' } })
  // Usage released by a deleted object is not released again.
  await plane.create(configMaps, { metadata: { namespace: 'default', name: 'b' } })
  await remove(plane, configMaps, 'b')
  // Usage is charged before the request fails because the name exists.
  const again = plane.client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } })
  await assert.rejects(plane.run(again), /already exists/)
  await plane.settle()
  assert.deepEqual(await usedOf(plane), { configmaps: '2' })
  await plane.advance(50_000)
  assert.deepEqual(await usedOf(plane), { configmaps: '2' })
  await plane.advance(20_000)
  assert.deepEqual(await usedOf(plane), { configmaps: '1' })
})

test('manual changes of the quota status are corrected', async t => {
  const plane = await start(t)
  await plane.create(configMaps, { metadata: { namespace: 'default', name: 'a' } })
  await plane.create(resourceQuotas, quotaOf({ configmaps: '3' }))
  const wrong: readonly (Readonly<Record<string, string>> | undefined)[] = [
    { configmaps: '0' },
    {},
    undefined,
    { configmaps: '1', pods: '7' },
  ]
  for (const used of wrong) {
    await plane.changeStatus(resourceQuotas, 'default/quota', ({ status, ...quota }) => ({
      ...quota,
      status: { hard: status?.hard ?? {}, ...(used && { used }) },
    }))
    assert.deepEqual(await usedOf(plane), { configmaps: '1' })
  }
})

test('concurrent creations and deletions use the quota fully and never exceed it', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ configmaps: '20' }))
  const make = async (index: number): Promise<boolean> => {
    try {
      await plane.client.create(configMaps, { metadata: { namespace: 'default', name: `map-${index}` } })
      return true
    } catch (error) {
      assert.match(String(error), /exceeded quota: quota, requested: configmaps=1/)
      return false
    } finally {
      const { items } = await plane.client.list(configMaps, { namespace: 'default' })
      assert.ok(items.length <= 20, `${items.length} are there`)
    }
  }
  const makeAndRemove = async (index: number): Promise<void> => {
    const isMade = await make(index)
    if (isMade && index % 3 !== 0)
      await plane.client.delete(configMaps, { namespace: 'default', name: `map-${index}` })
  }
  for (let first = 0; first < 120; first += 12) {
    await plane.run(Promise.all(Array.from({ length: 12 }, (_, index) => makeAndRemove(first + index))))
  }
  await plane.settle()
  const count = async (): Promise<string> => String((await plane.list(configMaps, 'default')).length)
  assert.deepEqual(await usedOf(plane), { configmaps: await count() })
  await plane.run(Promise.all(Array.from({ length: 40 }, (_, index) => make(1_000 + index))))
  assert.equal(await count(), '20')
})

test('an unchanged autoscaler causes no writes', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ 'pods': '5', 'limits.memory': '1Gi' }))
  const versionOf = async (): Promise<unknown> =>
    (await plane.list(resourceQuotas))[0]?.metadata.resourceVersion
  const version = await versionOf()
  await plane.create(configMaps, { metadata: { namespace: 'default', name: 'a' } })
  await plane.advance(1_800_000)
  assert.equal(await versionOf(), version)
})
