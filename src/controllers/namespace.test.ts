import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiServices } from '#/api/generated/apiregistration/v1-resources.ts'
import { configMaps, namespaces, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { namespaceController } from './namespace.ts'
import { startTestControlPlane } from './test-control-plane.ts'

const spec = { containers: [{ name: 'web', image: 'web' }] }

test('deleting a namespace deletes its objects and no others', async t => {
  const plane = await startTestControlPlane(t, [namespaceController])
  await plane.create(namespaces, { metadata: { name: 'doomed' } })
  for (const namespace of ['doomed', 'default']) {
    await plane.create(configMaps, { metadata: { namespace, name: 'map' } })
    await plane.create(deployments, {
      metadata: { namespace, name: 'web' },
      spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec } },
    })
  }
  await plane.run(plane.client.delete(namespaces, { name: 'doomed' }))
  await plane.settle()
  assert.equal(
    (await plane.list(namespaces)).some(each => each.metadata.name === 'doomed'),
    false,
  )
  assert.deepEqual(
    (await plane.list(configMaps)).map(each => each.metadata.namespace),
    ['default', 'kube-system'],
  )
  assert.deepEqual(
    (await plane.list(deployments)).map(each => each.metadata.namespace),
    ['default'],
  )
})

test('namespace deletion deletes pods first and reports remaining content in conditions', async t => {
  const plane = await startTestControlPlane(t, [namespaceController])
  await plane.create(nodes, { metadata: { name: 'n1' } })
  await plane.create(namespaces, { metadata: { name: 'doomed' } })
  await plane.create(configMaps, {
    metadata: { namespace: 'doomed', name: 'map', finalizers: ['example.com/hold'] },
  })
  await plane.create(pods, {
    metadata: { namespace: 'doomed', name: 'web' },
    spec: { ...spec, nodeName: 'n1' },
  })
  await plane.run(plane.client.delete(namespaces, { name: 'doomed' }))
  await plane.settle()
  const said = async (type: string): Promise<string | undefined> => {
    const namespace = (await plane.list(namespaces)).find(each => each.metadata.name === 'doomed')
    return namespace?.status?.conditions?.find(each => each.type === type)?.message
  }
  assert.equal(
    await said('NamespaceContentRemaining'),
    'Some resources are remaining: pods. has 1 resource instances',
  )
  const [map] = await plane.list(configMaps, 'doomed')
  assert.equal(map?.metadata.deletionTimestamp, undefined)
  await plane.run(plane.client.delete(pods, { namespace: 'doomed', name: 'web' }, { gracePeriodSeconds: 0 }))
  await plane.advance(6_000)
  assert.equal(
    await said('NamespaceFinalizersRemaining'),
    'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
  )
  await plane.change(configMaps, 'doomed/map', each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: [] },
  }))
  await plane.advance(6_000)
  assert.equal(
    (await plane.list(namespaces)).some(each => each.metadata.name === 'doomed'),
    false,
  )
})

test('a namespace is kept while an extension server cannot tell what it contains', async t => {
  const plane = await startTestControlPlane(t, [namespaceController])
  await plane.create(namespaces, { metadata: { name: 'doomed' } })
  await plane.create(apiServices, {
    metadata: { name: 'v1.wardle.example.com' },
    spec: {
      group: 'wardle.example.com',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 10,
      service: { namespace: 'default', name: 'wardle' },
    },
  })
  await plane.run(plane.client.delete(namespaces, { name: 'doomed' }))
  await plane.settle()
  const find = async () => (await plane.list(namespaces)).find(each => each.metadata.name === 'doomed')
  const conditions = (await find())?.status?.conditions
  assert.equal(
    conditions?.find(({ type }) => type === 'NamespaceDeletionDiscoveryFailure')?.message,
    'Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ' +
      'wardle.example.com/v1: stale GroupVersion discovery: wardle.example.com/v1',
  )
  await plane.run(plane.client.delete(apiServices, { name: 'v1.wardle.example.com' }))
  await plane.advance(60_000)
  assert.equal(await find(), undefined)
})
