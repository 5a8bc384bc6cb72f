import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { hashContent, type StoredEntry } from '#/store/content.ts'
import {
  describeSnapshot,
  listSnapshots,
  openEmbeddedContent,
  openSnapshot,
  restoreSnapshot,
  saveSnapshot,
  type StorePlace,
} from '#/store/snapshot.ts'
import { SnapshotSchedule } from '#/store/snapshot-schedule.ts'
import type { Entry, Store } from '#/store/store.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

test('a snapshot taken during writes can be restored, and watches of lost revisions must relist', async t => {
  const { folder, place, snapshot } = await placeIn(t)
  const store = await openIn(t, place)
  await fill(store, 'before', 2_000)
  const before = await store.revision()
  const writing = fill(store, 'during', 500)
  const saved = await save(place, snapshot)
  await writing
  const lost = await store.revision()
  assert.ok(saved.keyCount >= 2_000 && saved.revision >= before && saved.revision <= lost)

  const other: StorePlace = { folder: join(folder, 'other'), markCopy: join(folder, 'pki', 'other.mark') }
  const replaced = await restore(other, snapshot)
  assert.equal(replaced.hash, saved.hash)
  const restored = await openIn(t, other)
  assert.deepEqual(
    textOf(await restored.get('/registry/before/7')),
    textOf(await store.get('/registry/before/7')),
  )
  assert.equal((await restored.list({ prefix: '/registry/' })).entries.length, saved.keyCount)
  assert.ok((await restored.revision()) > lost)
  await assert.rejects(
    async () => {
      for await (const _ of restored.watch({ prefix: '/registry/', afterRevision: lost }))
        assert.fail('an event')
    },
    { reason: 'compacted' },
  )
  const created = await restored.create('/registry/new', Buffer.from('x'))
  assert.deepEqual(created, { written: true, revision: replaced.revision + 1 })
})

test('a restore refuses a running, an intact and a foreign store, and with force keeps the old files', async t => {
  const { folder, place, snapshot } = await placeIn(t)
  const store = await openIn(t, place)
  await fill(store, 'a', 10)
  await save(place, snapshot)
  await assert.rejects(save(place, snapshot), /exists already: choose another name/u)
  await assert.rejects(restore(place, snapshot), /is in use by another process: stop it first/u)
  const lost = await fill(store, 'b', 10)
  await store[Symbol.asyncDispose]()
  await assert.rejects(restore(place, snapshot), /is intact: --force replaces it/u)
  const another = { folder: join(folder, 'another') }
  const foreign = await openIn(t, another)
  await foreign[Symbol.asyncDispose]()
  await assert.rejects(restore(another, snapshot), /Secrets are readable only with the pki folder/u)

  const { keptIn, revision } = await restore(place, snapshot, true)
  assert.match(keptIn ?? '', /store\.replaced-\d{8}T\d{6}Z$/u)
  assert.ok(revision > lost)
  const restored = await openIn(t, place)
  assert.equal((await restored.list({ prefix: '/registry/' })).entries.length, 10)
  await using kept = await EmbeddedStore.open({ platform, folder: keptIn! })
  assert.equal((await kept.list({ prefix: '/registry/' })).entries.length, 20)
})

test('a missing store is restored with revisions after those of the mark in pki', async t => {
  const { place, snapshot } = await placeIn(t)
  const store = await openIn(t, place)
  await fill(store, 'a', 5)
  await save(place, snapshot)
  const lost = await fill(store, 'b', 100)
  await store[Symbol.asyncDispose]()
  await platform.files.remove(place.folder)
  await assert.rejects(EmbeddedStore.open({ platform, ...place }), { name: 'StoreDamagedError' })
  const { revision, keptIn } = await restore(place, snapshot)
  assert.deepEqual([revision >= lost + 1_000_000_000, keptIn], [true, undefined])
  const restored = await openIn(t, place)
  assert.equal((await restored.list({ prefix: '/registry/' })).entries.length, 5)
})

test('every damage of a snapshot file is recognized, and nothing is restored from it', async t => {
  const { place, snapshot, folder } = await placeIn(t)
  const store = await openIn(t, place)
  await fill(store, 'a', 300)
  const { sizeBytes } = await save(place, snapshot)
  const content = await readFile(snapshot)
  const damaged = join(folder, 'damaged')
  const target = { folder: join(folder, 'target') }
  const refused = async (bytes: Buffer): Promise<void> => {
    await writeFile(damaged, bytes)
    await assert.rejects(restore(target, damaged), { name: 'SnapshotDamagedError' })
    assert.equal(await platform.files.stat(target.folder), undefined)
  }
  for (let at = 3; at < sizeBytes; at += Math.floor(sizeBytes / 25)) {
    const flipped = Buffer.from(content)
    flipped[at]! ^= 0x10
    await refused(flipped)
  }
  for (const length of [0, 100, 512, 600, Math.floor(sizeBytes / 2), sizeBytes - 1])
    await refused(content.subarray(0, length))
})

test('snapshots of a store that another process writes to and compacts are consistent', async t => {
  const { folder, place } = await placeIn(t)
  const acknowledged = join(folder, 'acknowledged')
  await using output = await open(acknowledged, 'w')
  const script = join(import.meta.dirname, 'crash-writer.ts')
  const writer = spawn(process.execPath, [script, place.folder, '0'], {
    stdio: ['ignore', output.fd, 'pipe'],
  })
  t.after(() => writer.kill('SIGKILL'))
  const ended = once(writer, 'exit')
  await once(writer.stderr!, 'data')
  const snapshots = new Map<string, number>()
  for (let number = 0; number < 8; number++) {
    const path = join(folder, `snapshot-${number}`)
    const linesBefore = await linesOf(acknowledged)
    const { revision } = await save({ folder: place.folder }, path)
    const missing = linesBefore.filter(line => Number(line.split(' ')[0]) > revision)
    assert.deepEqual(missing, [], 'each write acknowledged before the snapshot is in it')
    snapshots.set(path, revision)
  }
  writer.kill('SIGKILL')
  await ended
  const lines = await linesOf(acknowledged)
  for (const [path, revision] of snapshots) {
    await using content = await openSnapshot(platform, path)
    const found = new Map<string, StoredEntry>()
    for await (const entry of content.entries()) found.set(entry.key, entry)
    for (const [key, expected] of stateAt(lines, revision)) {
      const entry = found.get(key)
      // A write that was not acknowledged before the kill may be newer.
      if (entry && entry.revision > expected.revision) continue
      assert.equal(entry && Buffer.from(entry.value).toString(), expected.value, `${key} at ${revision}`)
    }
  }
})

test('scheduled snapshots share segments with the store, can be restored, and are listed', async t => {
  const { folder, place } = await placeIn(t)
  const store = await openIn(t, place, 50_000)
  await fill(store, 'a', 200)
  const schedule = new SnapshotSchedule({
    platform,
    place,
    folder: join(folder, 'snapshots'),
    intervalMs: 3_600_000,
    retention: 2,
  })
  await schedule.step()
  await schedule.step()
  const [only, ...others] = await listSnapshots(platform, join(folder, 'snapshots'))
  assert.ok(only && others.length === 0, 'none without a change')
  const linked = await platform.files.list(only.path)
  assert.ok(linked.length > 2 && linked.includes('00000001.log'))
  const lost = await fill(store, 'b', 200)
  // Segments are rewritten, and the snapshot keeps the old ones.
  for (const { key, revision } of (await store.list({ prefix: '/registry/a/' })).entries)
    await store.delete(key, { expectedRevision: revision })
  await waitUntil(async () => {
    await store.create(`/registry/c/${await store.revision()}`, Buffer.from('x'))
    await store.compact(await store.revision())
    return !(await platform.files.list(place.folder)).includes('00000002.log')
  })
  await store[Symbol.asyncDispose]()
  assert.deepEqual(await describeSnapshot(platform, only.path), only)
  const { revision } = await restore(place, only.path, true)
  assert.ok(revision > lost)
  const restored = await openIn(t, place)
  const { entries } = await restored.list({ prefix: '/registry/' })
  assert.deepEqual(
    entries.map(({ key }) => key).filter(key => !key.startsWith('/registry/a/')),
    [],
  )
  assert.equal(entries.length, 200)
})

test('keys keep the time at which they expire through a snapshot', async t => {
  const { folder, place, snapshot } = await placeIn(t)
  const store = await openIn(t, place)
  await store.create('/registry/short', Buffer.from('x'), { ttlMs: 60_000 })
  await store.create('/registry/long', Buffer.from('x'), { ttlMs: 3_600_000 })
  await save(place, snapshot)
  const other = { folder: join(folder, 'other') }
  await restore(other, snapshot)
  const clock = { ...platform.clock, now: () => platform.clock.now() + 120_000 }
  await using restored = await EmbeddedStore.open({ platform: { ...platform, clock }, ...other })
  await waitUntil(async () => (await restored.get('/registry/short')) === undefined)
  assert.notEqual(await restored.get('/registry/long'), undefined)
})

test('saving without a store says where it was looked for', async t => {
  const { place, snapshot } = await placeIn(t)
  await assert.rejects(save(place, snapshot), /there is no store in .*check --data-dir/u)
})

interface Place {
  readonly folder: string
  readonly place: StorePlace
  /** Path of a snapshot file that does not exist yet. */
  readonly snapshot: string
}

async function placeIn(t: TestContext): Promise<Place> {
  const folder = await temporaryFolder(t)
  const place = { folder: join(folder, 'store'), markCopy: join(folder, 'pki', 'store.mark') }
  return { folder, place, snapshot: join(folder, 'snapshot') }
}

async function openIn(t: TestContext, place: StorePlace, segmentBytesMax?: number): Promise<EmbeddedStore> {
  const store = await EmbeddedStore.open({ platform, ...place, ...(segmentBytesMax && { segmentBytesMax }) })
  t.after(() => store[Symbol.asyncDispose]())
  return store
}

/** Returns the revision after the last write. */
async function fill(store: Store, name: string, count: number): Promise<number> {
  for (let first = 0; first < count; first += 50) {
    const indexes = Array.from({ length: Math.min(50, count - first) }, (_, offset) => first + offset)
    await Promise.all(
      indexes.map(index =>
        store.create(`/registry/${name}/${index}`, Buffer.alloc(1_000, `${name}${index}`)),
      ),
    )
  }
  return store.revision()
}

async function save(place: StorePlace, path: string) {
  await using content = await openEmbeddedContent(platform, place)
  const saved = await saveSnapshot(platform, content, path)
  await using snapshot = await openSnapshot(platform, path)
  assert.equal((await hashContent(snapshot)).hash, saved.hash)
  return saved
}

async function restore(place: StorePlace, path: string, force = false) {
  await using snapshot = await openSnapshot(platform, path)
  return await restoreSnapshot({ platform, snapshot, place, force })
}

function textOf(entry: Entry | undefined) {
  assert.ok(entry)
  return { ...entry, value: Buffer.from(entry.value).toString() }
}

/** Complete lines of what the writer has acknowledged. */
async function linesOf(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split('\n').slice(0, -1)
}

function stateAt(
  lines: readonly string[],
  revision: number,
): Map<string, { readonly revision: number; readonly value: string | undefined }> {
  const state = new Map<string, { readonly revision: number; readonly value: string | undefined }>()
  for (const line of lines) {
    const [at = '', key = '', value = ''] = line.split(' ')
    if (Number(at) > revision || Number(at) < (state.get(key)?.revision ?? 0)) continue
    state.set(key, { revision: Number(at), value: value === '' ? undefined : value })
  }
  return state
}
