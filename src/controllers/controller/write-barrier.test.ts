import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { Informer } from '#/client/informer.ts'
import type { Selection } from '#/client/reflector.ts'
import { startTestControlPlane } from '../test-control-plane.ts'
import { WriteBarrier } from './write-barrier.ts'

/** The informer does not run until `follow` is called. */
async function setUp(t: Parameters<typeof startTestControlPlane>[0], selection: Selection = {}) {
  const plane = await startTestControlPlane(t, [])
  const { platform, client } = plane
  const informer = new Informer({ platform, client, resource: configMaps, selection })
  const writes = new WriteBarrier()
  writes.follow(configMaps, informer)
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const isSeen = async (key = 'key'): Promise<boolean> => {
    let seen = false
    const giving = new AbortController()
    const waiting = writes.waitUntilVisible(key, giving.signal).then(
      () => (seen = true),
      () => undefined,
    )
    await plane.settle()
    giving.abort()
    await plane.run(waiting)
    return seen
  }
  const follow = async (): Promise<void> => {
    void informer.run(stopping.signal)
    await plane.settle()
  }
  const make = (name: string, more: Partial<ConfigMap> = {}): Promise<Stored<ConfigMap>> => {
    return plane.create(configMaps, { ...more, metadata: { ...more.metadata, namespace: 'default', name } })
  }
  const remove = async (object: Stored): Promise<void> => {
    const [namespace, name = ''] = keyOf(object).split('/')
    await plane.run(plane.client.delete(configMaps, { namespace, name }))
    await plane.settle()
  }
  return { plane, writes, informer, isSeen, follow, make, remove }
}

test('a write is visible when the informer has its resourceVersion', async t => {
  const { writes, isSeen, follow, make } = await setUp(t)
  assert.equal(await isSeen(), true)
  writes.recordWrite('key', configMaps, await make('a'))
  assert.equal(await isSeen(), false)
  assert.equal(await isSeen('other'), true)
  await follow()
  assert.equal(await isSeen(), true)
})

test('a write is visible if the object was deleted since', async t => {
  const { writes, isSeen, follow, make, remove } = await setUp(t)
  const made = await make('a')
  writes.recordWrite('key', configMaps, made)
  await remove(made)
  assert.equal(await isSeen(), false)
  await follow()
  assert.equal(await isSeen(), true)
})

test('a deletion is visible when the object is gone, replaced or terminating', async t => {
  const { plane, writes, informer, isSeen, follow, make, remove } = await setUp(t)
  await follow()
  const objects = {
    gone: await make('gone'),
    another: await make('another'),
    going: await make('going', { metadata: { finalizers: ['example.com/x'] } }),
  }
  for (const [name, object] of Object.entries(objects)) {
    const { namespace = '', uid } = object.metadata
    writes.recordDelete(name, configMaps, { namespace, name, uid })
    // Without a uid, the object in the informer is meant.
    writes.recordDelete(`${name} by name`, configMaps, { namespace, name })
    assert.deepEqual([await isSeen(name), await isSeen(`${name} by name`)], [false, false])
    await remove(object)
    if (name === 'another') await make('another')
    assert.deepEqual([await isSeen(name), await isSeen(`${name} by name`)], [true, true], name)
  }
  assert.notEqual(informer.get('default/another'), undefined)
  assert.notEqual(informer.get('default/going'), undefined)
  await plane.change(configMaps, 'default/going', each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: [] },
  }))
})

test('an informer of one namespace shows its writes, one with a selector is not waited for', async t => {
  const own = await setUp(t, { namespace: 'default' })
  const made = await own.make('a')
  own.writes.recordWrite('key', configMaps, made)
  own.writes.recordWrite('other', configMaps, {
    ...made,
    metadata: { ...made.metadata, namespace: 'elsewhere' },
  })
  assert.deepEqual([await own.isSeen(), await own.isSeen('other')], [false, true])
  await own.follow()
  assert.equal(await own.isSeen(), true)
  const labelled = await setUp(t, { labelSelector: 'app=web' })
  labelled.writes.recordWrite('key', configMaps, await labelled.make('a'))
  assert.equal(await labelled.isSeen(), true)
})

test('writes of resources without an informer are not waited for', async t => {
  const { plane, writes, isSeen } = await setUp(t)
  const secret = await plane.create(secrets, { metadata: { namespace: 'default', name: 's' } })
  writes.recordWrite('key', secrets, secret)
  writes.recordDelete('key', secrets, { namespace: 'default', name: 's' })
  assert.equal(await isSeen(), true)
})

test('waiting ends when aborted', async t => {
  const { writes, plane, make } = await setUp(t)
  writes.recordWrite('key', configMaps, await make('a'))
  await assert.rejects(
    plane.run(writes.waitUntilVisible('key', AbortSignal.abort(new Error('stopped')))),
    /stopped/,
  )
})
