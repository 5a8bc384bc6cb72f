import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { loadGrpc, nodePlatform } from '#/platform/node.ts'
import { hashContent } from '#/store/content.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { EtcdStore } from '#/store/etcd.ts'
import { migrateToEmbedded, writeToEtcd } from '#/store/migrate.ts'
import { openEmbeddedContent, openSnapshot, restoreSnapshot, saveSnapshot } from '#/store/snapshot.ts'
import type { Entry } from '#/store/store.ts'
import { EtcdCluster, etcdMissing } from '../etcd/cluster.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const options = { skip: etcdMissing, timeout: 120_000 }

test('all objects go from the embedded store to etcd and back unchanged', options, async t => {
  const folder = await temporaryFolder(t)
  const [place, other] = [{ folder: join(folder, 'store') }, { folder: join(folder, 'other') }]
  await fill(place.folder)
  const etcd = await startEtcd(t)

  await using source = await openEmbeddedContent(platform, place)
  const copied = await writeToEtcd(platform, source, etcd)
  assert.equal(copied.keyCount, keyCount)
  assert.equal((await hashContent(source)).hash, copied.hash)
  await assert.rejects(writeToEtcd(platform, source, etcd), /etcd is not empty: it has 1201 keys/u)

  const back = await migrateToEmbedded({ platform, source: etcd, place: other, force: false })
  assert.equal(back.hash, copied.hash)
  assert.ok(back.revision > (await etcd.revision()))
  await using migrated = await EmbeddedStore.open({ platform, ...other })
  await using original = await EmbeddedStore.open({ platform, folder: await copyOf(source, folder) })
  const textsOf = ({ entries }: { readonly entries: readonly Entry[] }): string[] =>
    entries.map(({ key, value }) => `${key} ${Buffer.from(value).toString('hex')}`)
  const prefix = '/registry/'
  assert.deepEqual(textsOf(await migrated.list({ prefix })), textsOf(await original.list({ prefix })))
  await assert.rejects(
    migrateToEmbedded({ platform, source: etcd, place: other, force: true }),
    /in use by another process: stop it first/u,
  )
})

test('a snapshot of an etcd is restored to another etcd and to an embedded store', options, async t => {
  const folder = await temporaryFolder(t)
  await fill(join(folder, 'store'))
  const [etcd, empty] = [await startEtcd(t), await startEtcd(t)]
  {
    await using source = await openEmbeddedContent(platform, { folder: join(folder, 'store') })
    await writeToEtcd(platform, source, etcd)
  }
  await using content = await etcd.readContent()
  const saved = await saveSnapshot(platform, content, join(folder, 'snapshot'))
  assert.equal(saved.revision, await etcd.revision())
  await using snapshot = await openSnapshot(platform, join(folder, 'snapshot'))
  assert.equal((await writeToEtcd(platform, snapshot, empty)).hash, saved.hash)
  const place = { folder: join(folder, 'restored') }
  assert.equal((await restoreSnapshot({ platform, snapshot, place })).hash, saved.hash)
  // Events keep their time to live: the one of an hour expires, the others do not.
  const clock = { ...platform.clock, now: () => platform.clock.now() + 2 * 3_600_000 }
  await using restored = await EmbeddedStore.open({ platform: { ...platform, clock }, ...place })
  const prefix = '/registry/events/'
  for await (const { events } of restored.watch({ prefix, afterRevision: await restored.revision() })) {
    if (events.some(({ type, key }) => type === 'delete' && key === '/registry/events/short')) break
  }
  assert.ok(await restored.get('/registry/pods/0'))
})

const keyCount = 1_201

/** Objects of all byte values, and an event with a time to live. */
async function fill(folder: string): Promise<void> {
  await using store = await EmbeddedStore.open({ platform, folder })
  const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256)
  const keys = Array.from({ length: keyCount - 1 }, (_, index) => `/registry/pods/${index}`)
  await Promise.all(keys.map((key, index) => store.create(key, bytes.subarray(index % 500))))
  await store.create('/registry/events/short', Buffer.from('event'), { ttlMs: 3_600_000 })
}

/** The store is locked by its content, so a copy of it is opened. */
async function copyOf(content: Parameters<typeof saveSnapshot>[1], folder: string): Promise<string> {
  await saveSnapshot(platform, content, join(folder, 'copy.k8ts'))
  await using snapshot = await openSnapshot(platform, join(folder, 'copy.k8ts'))
  const place = { folder: join(folder, 'copy') }
  await restoreSnapshot({ platform, snapshot, place })
  return place.folder
}

async function startEtcd(t: TestContext): Promise<EtcdStore> {
  const cluster = await EtcdCluster.startPlain(1)
  t.after(() => cluster[Symbol.asyncDispose]())
  const store = EtcdStore.open({ platform, connect: await loadGrpc(), endpoints: cluster.endpoints })
  t.after(() => store[Symbol.asyncDispose]())
  await store.revision()
  return store
}
