import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isTrue } from '#/api/conditions.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { storageVersionMigrations } from '#/api/generated/storagemigration/v1beta1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { discoverResources } from '#/client/discovery.ts'
import { storageVersionMigratorController } from './storage-version-migrator.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

function start(t: TestContext): Promise<TestControlPlane> {
  return startTestControlPlane(t, [storageVersionMigratorController], {
    enabledVersions: ['storagemigration.k8s.io/v1beta1'],
    featureGates: ['StorageVersionMigrator'],
  })
}

function definition(storage: 'v1' | 'v2'): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    metadata: { name: 'servers.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'servers', singular: 'server', kind: 'Server', listKind: 'ServerList' },
      versions: ['v1', 'v2'].map(name => ({ name, served: true, storage: name === storage, schema })),
    },
  }
}

async function serversOf({ client, run }: TestControlPlane) {
  const found = (await run(discoverResources(client))).find(({ plural }) => plural === 'servers')
  assert.ok(found)
  return found
}

test('objects of a former storage version are rewritten once, and storedVersions has the current one only', async t => {
  const world = await start(t)
  const { client, run, settle } = world
  await world.create(customResourceDefinitions, definition('v1'))
  const servers = await serversOf(world)
  const made: KubernetesObject[] = []
  for (const name of ['a', 'b'])
    made.push(
      await world.create(servers, {
        metadata: { name, namespace: 'default' },
        spec: { port: 80 },
      } as KubernetesObject),
    )
  await world.change(customResourceDefinitions, 'servers.example.com', current => {
    return { ...current, spec: definition('v2').spec }
  })
  assert.deepEqual((await storedVersions(world)).stored, ['v1', 'v2'])
  const resource = { group: 'example.com', resource: 'servers' }
  await world.create(storageVersionMigrations, { metadata: { name: 'servers' }, spec: { resource } })
  await world.create(storageVersionMigrations, { metadata: { name: 'servers-again' }, spec: { resource } })
  await settle()

  const rewritten = await run(client.listAll(servers, { namespace: 'default' }))
  for (const [index, { metadata }] of rewritten.items.entries()) {
    assert.notEqual(metadata.resourceVersion, made[index]!.metadata?.resourceVersion)
    assert.deepEqual(
      [metadata.uid, metadata.generation],
      [made[index]!.metadata?.uid, made[index]!.metadata?.generation],
    )
  }
  const versions = rewritten.items.map(({ metadata }) => metadata.resourceVersion)
  for (const name of ['servers', 'servers-again']) {
    const { status } = await run(client.get(storageVersionMigrations, { name }))
    const states = status?.conditions?.map(({ type, status: state, reason }) => `${type} ${state} ${reason}`)
    assert.deepEqual(states, [
      'Running False MigrationCompleted',
      'Succeeded True StorageVersionMigrationSucceeded',
    ])
  }
  const { stored, migrating } = await storedVersions(world)
  assert.deepEqual(stored, ['v2'])
  assert.deepEqual([migrating?.status, migrating?.reason], ['False', 'MigrationSucceeded'])
  // The second migration has found nothing to write.
  const last = await run(client.listAll(servers, { namespace: 'default' }))
  assert.deepEqual(
    last.items.map(({ metadata }) => metadata.resourceVersion),
    versions,
  )
})

async function storedVersions({ client, run }: TestControlPlane) {
  const { status } = await run(client.get(customResourceDefinitions, { name: 'servers.example.com' }))
  const migrating = status?.conditions?.find(({ type }) => type === 'StorageMigrating')
  return { stored: status?.storedVersions, migrating }
}

test('built-in objects stay as they are, and a resource that cannot be migrated fails', async t => {
  const world = await start(t)
  const { client, run, advance } = world
  const before = await world.create(configMaps, {
    metadata: { name: 'kept', namespace: 'default' },
    data: { a: 'b' },
  })
  const migrate = (name: string, resource: string, group = ''): Promise<unknown> =>
    world.create(storageVersionMigrations, { metadata: { name }, spec: { resource: { group, resource } } })
  await migrate('maps', 'configmaps')
  await migrate('reviews', 'tokenreviews', 'authentication.k8s.io')
  await migrate('absent', 'nothings', 'example.com')
  await advance(120_000)
  assert.equal(await stateOf('maps'), 'Succeeded')
  const after = await run(client.get(configMaps, { namespace: 'default', name: 'kept' }))
  assert.deepEqual(after, before)
  assert.equal(
    await stateOf('reviews'),
    'Failed: resource does not support discovery operations: update, patch, list',
  )
  assert.equal(await stateOf('absent'), 'Failed: resource does not exist in discovery')

  async function stateOf(name: string): Promise<string> {
    const { status } = await run(client.get(storageVersionMigrations, { name }))
    if (isTrue(status?.conditions, 'Succeeded')) return 'Succeeded'
    return `Failed: ${status?.conditions?.find(({ type }) => type === 'Failed')?.message}`
  }
})

test('a migration cannot be changed, and needs a resource', async t => {
  const world = await start(t)
  const create = (resource: string, group: string): Promise<unknown> =>
    world.create(storageVersionMigrations, {
      metadata: { name: 'wrong' },
      spec: { resource: { group, resource } },
    })
  await assert.rejects(
    create('', ''),
    /spec\.resource\.resource: Required value: resource is required to be set/,
  )
  await assert.rejects(create('Servers', ''), /spec\.resource\.resource: Invalid value: "Servers"/)
  await assert.rejects(create('servers', 'Example'), /spec\.resource\.group: Invalid value: "Example"/)
  await world.create(storageVersionMigrations, {
    metadata: { name: 'maps' },
    spec: { resource: { group: '', resource: 'configmaps' } },
  })
  const changed = world.change(storageVersionMigrations, 'maps', current => {
    return { ...current, spec: { resource: { group: '', resource: 'secrets' } } }
  })
  await assert.rejects(changed, /spec: Invalid value: .*: field is immutable/)
  const undone = world.changeStatus(storageVersionMigrations, 'maps', current => {
    return { ...current, status: { ...current.status, resourceVersion: '1', conditions: [] } }
  })
  await assert.rejects(undone, /status\.resourceVersion: Invalid value: "1": field is immutable/)
})
