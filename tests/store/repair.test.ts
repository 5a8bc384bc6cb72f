import assert from 'node:assert/strict'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { checkStore } from '#/store/check.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { repairStore } from '#/store/repair.ts'
import { describeDamage, type StorePlace } from '#/store/snapshot.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

test('a check of a store in use shows its keys, its sizes and its hash', async t => {
  const { place, store } = await filledStore(t)
  const online = await checkStore(platform, place)
  assert.deepEqual([online.damages, online.revision, online.content?.keyCount], [[], 401, 300])
  assert.ok(online.segments.length > 2)
  await store.compact(await store.revision())
  await store[Symbol.asyncDispose]()
  const offline = await checkStore(platform, place)
  assert.deepEqual(offline.content, online.content)
  assert.equal(offline.compacted, 401)
  const garbage = offline.segments.reduce((sum, { garbageBytes }) => sum + garbageBytes, 0)
  assert.ok(garbage > 0, `${garbage} bytes of garbage after compaction`)
})

test('a flipped bit in the middle costs one value, which is named, and watches must relist', async t => {
  const { place, store } = await filledStore(t)
  await store[Symbol.asyncDispose]()
  await flipValue(place, 'value of b42,')
  const { damages, content } = await checkStore(platform, place)
  assert.equal(content, undefined)
  assert.match(
    damages.map(describeDamage).join(),
    /0000000\d\.log at byte \d+: the log is damaged after revision/u,
  )
  const files = await readdir(place.folder)

  const planned = await repairStore({ platform, place, acceptsLoss: false })
  assert.ok(planned.state === 'damaged' && planned.repaired === undefined)
  const { loss } = planned
  assert.deepEqual(loss.keys, [{ key: '/registry/b/42', revision: 144, newestIntact: undefined }])
  assert.deepEqual(loss.revisions, [{ first: 144, last: 144 }])
  assert.equal(loss.keptCount, 299)
  assert.deepEqual(await readdir(place.folder), files)

  const done = await repairStore({ platform, place, acceptsLoss: true })
  assert.ok(done.state === 'damaged' && done.repaired)
  assert.match(done.repaired.keptIn ?? '', /store\.damaged-\d{8}T\d{6}Z$/u)
  await using repaired = await EmbeddedStore.open({ platform, ...place })
  assert.equal(await repaired.revision(), 1_000_000_401)
  const { entries } = await repaired.list({ prefix: '/registry/' })
  assert.equal(entries.length, 299)
  for (const { key, value } of entries)
    assert.equal(Buffer.from(value).toString().split(',')[0], valueOf(key))
  await assert.rejects(
    async () => {
      for await (const _ of repaired.watch({ prefix: '/registry/', afterRevision: 401 }))
        assert.fail('an event')
    },
    { reason: 'compacted' },
  )
  assert.deepEqual((await checkStore(platform, place)).damages, [])
})

test('damaged headers, frames and lost ends of the log keep everything else', async t => {
  const cases: Readonly<Record<string, (content: Buffer) => Buffer>> = {
    'the header of a segment': content => flipped(content, 20),
    'the header of a frame': content => flipped(content, 512 + 10),
    'the second half of a segment': content => content.subarray(0, Math.floor(content.length / 2)),
  }
  for (const [name, damage] of Object.entries(cases)) {
    const { place, store } = await filledStore(t)
    await store[Symbol.asyncDispose]()
    const path = join(place.folder, '00000002.log')
    await writeFile(path, damage(await readFile(path)))
    const done = await repairStore({ platform, place, acceptsLoss: true })
    assert.ok(done.state === 'damaged' && done.repaired, name)
    await using repaired = await EmbeddedStore.open({ platform, ...place })
    const { entries } = await repaired.list({ prefix: '/registry/' })
    assert.equal(entries.length, done.loss.keptCount)
    const isCut = name.startsWith('the second half')
    assert.ok(isCut ? entries.length < 300 : entries.length === 300, `${name}: ${entries.length} objects`)
    assert.equal(done.loss.revisions.length > 0, isCut, name)
  }
})

test('an intact store is not repaired, and one in use is refused', async t => {
  const { place, store } = await filledStore(t)
  await assert.rejects(
    repairStore({ platform, place, acceptsLoss: true }),
    /in use by another process: stop it/u,
  )
  await store[Symbol.asyncDispose]()
  assert.deepEqual(await repairStore({ platform, place, acceptsLoss: true }), { state: 'intact' })
  const nothing = { folder: join(await temporaryFolder(t), 'store') }
  assert.deepEqual(await repairStore({ platform, place: nothing, acceptsLoss: true }), { state: 'missing' })
})

/** Objects of the keys a, b and c at revisions 2 to 301, and of d that are deleted again, up to revision 401. */
async function filledStore(t: TestContext) {
  const folder = await temporaryFolder(t)
  const place = { folder: join(folder, 'store'), markCopy: join(folder, 'pki', 'store.mark') }
  const store = await EmbeddedStore.open({ platform, ...place, segmentBytesMax: 100_000 })
  t.after(() => store[Symbol.asyncDispose]())
  const create = (key: string) => store.create(key, Buffer.from(`${valueOf(key)},`.padEnd(1_000, 'x')))
  const indexes = Array.from({ length: 100 }, (_, index) => index)
  for (const name of ['a', 'b', 'c'])
    for (let first = 0; first < 100; first += 20)
      await Promise.all(indexes.slice(first, first + 20).map(index => create(`/registry/${name}/${index}`)))
  for (const index of indexes.slice(0, 50)) {
    const created = await create(`/registry/d/${index}`)
    assert.ok(created.written)
    await store.delete(`/registry/d/${index}`, { expectedRevision: created.revision })
  }
  return { place, store }
}

function valueOf(key: string): string {
  return `value of ${key.slice('/registry/'.length).replace('/', '')}`
}

/** Flips a bit in the file that contains the text. */
async function flipValue(place: StorePlace, text: string): Promise<void> {
  for (const name of await readdir(place.folder)) {
    if (!name.endsWith('.log')) continue
    const path = join(place.folder, name)
    const content = await readFile(path)
    const at = content.indexOf(text)
    if (at >= 0) await writeFile(path, flipped(content, at + 3))
  }
}

function flipped(content: Buffer, at: number): Buffer {
  const copy = Buffer.from(content)
  copy[at]! ^= 0x04
  return copy
}
