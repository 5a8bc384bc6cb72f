import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { crc32 } from 'node:zlib'
import { nodePlatform } from '#/platform/node.ts'
import type { FileStep, FileWriter, Platform } from '#/platform/platform.ts'
import { Compactor } from '#/store/compactor.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { migrateToFormat2 } from '#/store/store-format.ts'
import type { Entry, Store } from '#/store/store.ts'
import { storeConformance } from '#/store/store.conformance.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

storeConformance('embedded', async t => {
  const folder = await temporaryFolder(t)
  const store = await EmbeddedStore.open({ platform, folder, cacheBytesMax: 2_000 })
  t.after(() => store[Symbol.asyncDispose]())
  return store
})

test('a store opened again has the same state, history and revision', async t => {
  const folder = await temporaryFolder(t)
  const first = await EmbeddedStore.open({ platform, folder })
  const created = await write(first, '/registry/a', '1', 0)
  const updated = await write(first, '/registry/a', '2', created)
  const other = await write(first, '/registry/b', 'gone', 0)
  await first.delete('/registry/b', { expectedRevision: other })
  const revision = await first.revision()
  await first[Symbol.asyncDispose]()

  const second = await openIn(t, folder)
  assert.equal(await second.revision(), revision)
  assert.deepEqual(await second.get('/registry/a'), entry('/registry/a', '2', updated, created))
  assert.deepEqual(
    await second.get('/registry/a', { revision: created }),
    entry('/registry/a', '1', created, created),
  )
  assert.deepEqual(
    await second.get('/registry/b', { revision: other }),
    entry('/registry/b', 'gone', other, other),
  )
  assert.equal(await second.get('/registry/b'), undefined)
  assert.equal(await write(second, '/registry/b', 'back', 0), revision + 1)
})

test('compaction and revisions survive a restart of an empty store', async t => {
  const folder = await temporaryFolder(t)
  const first = await EmbeddedStore.open({ platform, folder })
  const created = await write(first, '/registry/a', '1', 0)
  await first.delete('/registry/a', { expectedRevision: created })
  const revision = await first.revision()
  await first.compact(revision)
  await first[Symbol.asyncDispose]()

  const second = await openIn(t, folder)
  assert.deepEqual([await second.revision(), await second.compactedRevision()], [revision, revision])
  await assert.rejects(second.get('/registry/a', { revision: created }), { reason: 'compacted' })
})

test('a key that expired while the store was closed is deleted when it is opened', async t => {
  const folder = await temporaryFolder(t)
  const first = await EmbeddedStore.open({ platform, folder })
  await first.create('/registry/short', Buffer.from('x'), { ttlMs: 60_000 })
  await first.create('/registry/long', Buffer.from('x'), { ttlMs: 3_600_000 })
  const afterRevision = await first.revision()
  await first[Symbol.asyncDispose]()

  const clock = { ...platform.clock, now: () => platform.clock.now() + 120_000 }
  const second = await openIn(t, folder, { ...platform, clock })
  for await (const { events } of second.watch({ prefix: '/registry/', afterRevision })) {
    assert.deepEqual(
      events.map(event => `${event.type} ${event.key}`),
      ['delete /registry/short'],
    )
    break
  }
  assert.deepEqual(
    (await second.list({ prefix: '/registry/' })).entries.map(each => each.key),
    ['/registry/long'],
  )
})

test('opening a store in use, or a file that is no store, fails', async t => {
  const folder = await temporaryFolder(t)
  const first = await openIn(t, folder)
  await assert.rejects(
    EmbeddedStore.open({ platform, folder }),
    /the store in .* is in use by another process/u,
  )
  await first[Symbol.asyncDispose]()
  await platform.files.write(join(folder, 'store.db'), 'this is no database at all'.repeat(100))
  await assert.rejects(migrateToFormat2(platform, { folder }), /cannot open the store .*not a database/u)
})

test('a store of format 1, an SQLite database, is migrated with its history', async t => {
  const folder = await temporaryFolder(t)
  await cp(join(import.meta.dirname, 'testdata', 'format-1.db'), join(folder, 'store.db'))
  await assert.rejects(EmbeddedStore.open({ platform, folder }), /has an older format/u)
  await migrateToFormat2(platform, { folder })
  {
    await using store = await EmbeddedStore.open({ platform, folder })
    assert.deepEqual([await store.revision(), await store.compactedRevision()], [8, 3])
    assert.deepEqual(await store.get('/registry/a'), entry('/registry/a', 'third', 8, 2))
    assert.deepEqual(await store.get('/registry/a', { revision: 4 }), entry('/registry/a', 'second', 4, 2))
    assert.deepEqual(await store.get('/registry/c', { revision: 5 }), entry('/registry/c', 'deleted', 5, 5))
    assert.deepEqual(
      (await store.list({ prefix: '/registry/' })).entries.map(({ key }) => key),
      ['/registry/a', '/registry/b', '/registry/lease'],
    )
    assert.equal(await write(store, '/registry/d', 'new', 0), 9)
  }
  const again = await openIn(t, folder)
  assert.equal(await again.revision(), 9)
  assert.deepEqual((await platform.files.list(folder)).includes('store.db.migrated'), true)
})

test('a log of format 2 is continued in a segment of format 3, and gets no notes itself', async t => {
  const folder = await temporaryFolder(t)
  const testdata = join(import.meta.dirname, 'testdata')
  await cp(join(testdata, 'format-2.segment'), join(folder, '00000001.log'))
  await cp(join(testdata, 'format-2.mark'), join(folder, 'mark'))
  const noted = async (store: Store, key: string): Promise<void> => {
    assert.ok((await store.create(key, Buffer.from('new'), { note: Buffer.from(`note of ${key}`) })).written)
  }
  let isFull = true
  const on = withWriter(async (writer, steps) => {
    if (isFull && steps[0]?.path.endsWith('00000002.log'))
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', step: 0 })
    await writer.perform(steps)
  })
  const events = [
    'put /registry/a first -',
    'put /registry/a second -',
    'put /registry/b gone -',
    'delete /registry/b -',
  ]
  {
    await using store = await EmbeddedStore.open({ platform: on, folder })
    assert.deepEqual(await notedEvents(store, 4), events)
    await noted(store, '/registry/c')
    assert.deepEqual((await notedEvents(store, 5)).slice(4), ['put /registry/c new note of /registry/c'])
  }
  assert.deepEqual(await formatsIn(folder), ['00000001.log 2'])
  isFull = false
  {
    await using store = await EmbeddedStore.open({ platform: on, folder })
    await noted(store, '/registry/d')
    assert.ok((await store.delete('/registry/d', { expectedRevision: 7, note: Buffer.from('last') })).written)
  }
  assert.deepEqual(await formatsIn(folder), ['00000001.log 2', '00000002.log 3'])
  await using again = await openIn(t, folder)
  assert.deepEqual(await notedEvents(again, 7), [
    ...events,
    'put /registry/c new -',
    'put /registry/d new note of /registry/d',
    'delete /registry/d last',
  ])
})

test('a store of a later format is refused', async t => {
  const folder = await temporaryFolder(t)
  await (await EmbeddedStore.open({ platform, folder }))[Symbol.asyncDispose]()
  const path = join(folder, '00000001.log')
  const content = Buffer.from(await platform.files.read(path))
  const text = content.toString('latin1', 0, 503).replace('"format":3', '"format":4')
  content.write(`${text}${crc32(text).toString(16).padStart(8, '0')}\n`, 'latin1')
  await platform.files.write(path, content)
  await assert.rejects(
    EmbeddedStore.open({ platform, folder }),
    /has format 4, and this version of k8ts reads format 3/u,
  )
})

test('a slow disk delays writes only, not reads, watches or the event loop', async t => {
  const folder = await temporaryFolder(t)
  const store = await EmbeddedStore.open({ platform: slowDisk(20), folder })
  t.after(() => store[Symbol.asyncDispose]())
  await write(store, '/registry/a', '1', 0)
  let pending = true
  const writing = write(store, '/registry/b', '2', 0).finally(() => {
    pending = false
  })
  let reads = 0
  for (; pending; reads++) {
    assert.equal((await store.list({ prefix: '/registry/' })).entries.length, pending ? 1 : 2)
    await platform.clock.turn()
  }
  await writing
  assert.ok(reads > 20, `${reads} reads while one write waited for the disk`)
})

test('after a disk failure the write is not acknowledged and the store is closed', async t => {
  const folder = await temporaryFolder(t)
  let fails = false
  const store = await openIn(
    t,
    folder,
    withWriter(async (writer, steps) => {
      if (fails && steps.some(({ type }) => type === 'sync'))
        throw Object.assign(new Error('EIO'), { code: 'EIO' })
      await writer.perform(steps)
    }),
  )
  await write(store, '/registry/a', '1', 0)
  fails = true
  await assert.rejects(store.create('/registry/b', Buffer.from('2')), { reason: 'closed' })
  await assert.rejects(store.create('/registry/c', Buffer.from('3')), { reason: 'closed' })
  await assert.rejects(store.revision(), { reason: 'closed' })
})

test('the file stays small when the same keys are written repeatedly', async t => {
  const folder = await temporaryFolder(t)
  const store = await openIn(t, folder)
  const clock = { ...platform.clock, monotonicMs: () => virtualMs }
  let virtualMs = 0
  const compactor = new Compactor({ store, clock, log: platform.log, keepMs: 10_000 })
  const latest = new Map<string, number>()
  const updates = 60_000
  for (let index = 0; index < updates; index += 100, virtualMs += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async (_, offset) => {
        const key = `/registry/k${(index + offset) % 500}`
        latest.set(key, await write(store, key, 'v'.repeat(500), latest.get(key) ?? 0))
      }),
    )
    if (virtualMs % 1_000 === 0) await compactor.step()
  }
  // One update per virtual millisecond: ten seconds of history are ten thousand versions.
  const keptBytes = 10_500 * 550
  const reservedBytes = 5 * 1024 * 1024
  const names = await platform.files.list(folder)
  const files = await Promise.all(names.map(name => platform.files.stat(join(folder, name))))
  const fileBytes = files.reduce((sum, file) => sum + (file?.sizeBytes ?? 0), 0)
  assert.ok(
    fileBytes < 3 * keptBytes + reservedBytes,
    `${fileBytes} bytes in files for ${keptBytes} bytes kept`,
  )
  assert.ok((await store.revision()) - (await store.compactedRevision()) < 11_500)
})

/** The first events of a store, with their values and notes. */
async function notedEvents(store: Store, count: number): Promise<string[]> {
  const shown: string[] = []
  for await (const { events } of store.watch({ prefix: '/registry/', afterRevision: 1 })) {
    for (const event of events) {
      const value = event.type === 'put' ? ` ${Buffer.from(event.value).toString()}` : ''
      shown.push(`${event.type} ${event.key}${value} ${Buffer.from(event.note ?? '-').toString()}`)
    }
    if (shown.length >= count) break
  }
  return shown
}

/** The segments in a folder and their formats. */
async function formatsIn(folder: string): Promise<string[]> {
  const names = (await platform.files.list(folder)).filter(name => name.endsWith('.log')).sort()
  const contents = await Promise.all(names.map(name => platform.files.read(join(folder, name))))
  return names.map((name, index) => {
    const format = /"format":(\d+)/u.exec(Buffer.from(contents[index]!).toString('latin1', 0, 512))
    return `${name} ${format?.[1]}`
  })
}

/** A platform whose file writers are intercepted. */
function withWriter(perform: (writer: FileWriter, steps: readonly FileStep[]) => Promise<void>): Platform {
  const openWriter = async (): Promise<FileWriter> => {
    const writer = await platform.files.openWriter()
    return {
      perform: steps => perform(writer, steps),
      [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
    }
  }
  return { ...platform, files: { ...platform.files, openWriter } }
}

function slowDisk(syncDelayMs: number): Platform {
  return withWriter(async (writer, steps) => {
    if (steps.some(({ type }) => type === 'sync')) await platform.clock.sleep(syncDelayMs)
    await writer.perform(steps)
  })
}

async function openIn(t: TestContext, folder: string, on: Platform = platform): Promise<EmbeddedStore> {
  const store = await EmbeddedStore.open({ platform: on, folder })
  t.after(() => store[Symbol.asyncDispose]())
  return store
}

/** Creates the key if the expected revision is 0. */
async function write(store: Store, key: string, value: string, expectedRevision: number): Promise<number> {
  const bytes = Buffer.from(value)
  const result = await (expectedRevision === 0
    ? store.create(key, bytes)
    : store.update(key, bytes, { expectedRevision }))
  assert.ok(result.written)
  return result.revision
}

function entry(key: string, value: string, revision: number, createRevision: number): Entry {
  return { key, value: new Uint8Array(Buffer.from(value)), revision, createRevision }
}
