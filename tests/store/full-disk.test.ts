/**
 * A full disk: writes are rejected, existing data stays readable, and writes succeed again when there is
 * space.
 */
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Clock } from '#/platform/platform.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import type { Store } from '#/store/store.ts'
import { emptyDisk, fillDisk, smallDisk, smallDiskMissing } from '../small-disk.ts'
import { waitUntil } from '../wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

const diskBytes = 24 * 1024 * 1024

test('a store on a full disk rejects writes until there is space', { skip: smallDiskMissing }, async t => {
  const disk = await smallDisk(t, diskBytes)
  const folder = join(disk, 'store')
  const store = await EmbeddedStore.open({ platform, folder })
  const first = await written(store.create('/registry/a', Buffer.from('1')))
  await fillDisk(disk)
  const revision = await untilFull(store)
  await assert.rejects(store.update('/registry/a', large, { expectedRevision: first }), { reason: 'full' })
  // Concurrent writes are rejected together, since later ones may depend on earlier ones.
  const together = [store.create('/registry/x', large), store.create('/registry/y', large)]
  for (const each of together) await assert.rejects(each, { reason: 'full' })

  assert.equal(await store.revision(), revision)
  assert.equal((await store.get('/registry/a'))?.value.toString(), '1')
  await emptyDisk(disk)
  assert.equal(await written(store.update('/registry/a', large, { expectedRevision: first })), revision + 1)
  assert.equal(await written(store.create('/registry/x', Buffer.from('2'))), revision + 2)
  await store[Symbol.asyncDispose]()

  await using again = await EmbeddedStore.open({ platform, folder })
  assert.equal(await again.revision(), revision + 2)
  assert.equal((await again.get('/registry/a'))?.value.length, large.length)
})

test(
  'keys that expire on a full disk are deleted when there is space',
  { skip: smallDiskMissing },
  async t => {
    const disk = await smallDisk(t, diskBytes)
    let skewMs = 0
    let expire = (): void => undefined
    let retries = 0
    const clock: Clock = {
      ...platform.clock,
      now: () => platform.clock.now() + skewMs,
      setTimer: (delayMs, callback) => {
        if (delayMs > hourMs / 2) {
          expire = callback
          return { cancel: () => undefined }
        }
        if (delayMs === expiryRetryMs) retries++
        return platform.clock.setTimer(delayMs, callback)
      },
    }
    await using store = await EmbeddedStore.open({
      platform: { ...platform, clock },
      folder: join(disk, 'store'),
    })
    const afterRevision = await store.revision()
    await store.create('/registry/short', Buffer.from('x'), { ttlMs: hourMs })
    await fillDisk(disk)
    await untilFull(store)
    skewMs = hourMs
    expire()
    await waitUntil(() => retries > 0)
    assert.notEqual(await store.get('/registry/short'), undefined)
    await emptyDisk(disk)
    for await (const { events } of store.watch({ prefix: '/registry/short', afterRevision })) {
      if (events.some(({ type }) => type === 'delete')) break
    }
    assert.equal(await store.get('/registry/short'), undefined)
  },
)

test('small updates succeed on a full disk in reserved space', { skip: smallDiskMissing }, async t => {
  const disk = await smallDisk(t, diskBytes)
  const folder = join(disk, 'store')
  await using store = await EmbeddedStore.open({ platform, folder })
  await waitUntil(async () => (await stat(join(folder, '00000001.log'))).size >= large.length)
  let revision = await written(store.create('/registry/a', Buffer.from('1')))
  await fillDisk(disk)
  for (let number = 0; number < 500; number++) {
    revision = await written(store.update('/registry/a', small, { expectedRevision: revision }))
  }
})

const hourMs = 3_600_000
/** Delay after which an expiry that failed is tried again. */
const expiryRetryMs = 2_000

const small = Buffer.alloc(2 * 1024, 'x')
const large = Buffer.alloc(1024 * 1024, 'x')

async function written(result: ReturnType<Store['create']>): Promise<number> {
  const answer = await result
  assert.ok(answer.written)
  return answer.revision
}

/** Uses up the reserved disk space, also that for deletions; resolves with the last written revision. */
async function untilFull(store: Store): Promise<number> {
  for (const value of [large, small, Buffer.from('x')]) await rejectedFrom(store, value)
  return store.revision()
}

async function rejectedFrom(store: Store, value: Buffer): Promise<void> {
  for (let number = 0; ; number++) {
    try {
      await store.create(`/registry/filler/${value.length}/${number}`, value, { ignoresQuota: true })
    } catch (error) {
      assert.equal((error as { reason?: string }).reason, 'full')
      return
    }
  }
}
