import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from './memory.ts'
import { storeConformance } from './store.conformance.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

storeConformance('memory', () => MemoryStore.open({ platform }))

test('at the quota only deletions are accepted, until the compacted history has made room', async () => {
  const quiet = { ...platform, log: new Simulation({ seed: 1 }).host('a').log }
  await using store = await MemoryStore.open({ platform: quiet, quotaBytes: 10_000 })
  const value = new Uint8Array(3_000)
  const first = await store.create('/registry/a', value)
  const second = await store.create('/registry/b', value)
  const third = await store.create('/registry/c', value)
  assert.ok(first.written && second.written && third.written)
  assert.ok(store.space.usedBytes > 9_000 && store.space.usedBytes <= 10_000, String(store.space.usedBytes))
  await assert.rejects(store.create('/registry/d', value), { reason: 'full' })
  assert.deepEqual(
    store.alarms.current.map(({ type }) => type),
    ['NOSPACE'],
  )
  assert.ok(
    (await store.update('/registry/a', value, { expectedRevision: first.revision, ignoresQuota: true }))
      .written,
  )
  const deleted = await store.delete('/registry/b', { expectedRevision: second.revision })
  assert.ok(deleted.written)
  await assert.rejects(store.create('/registry/d', value), { reason: 'full' })

  await store.compact(deleted.revision)
  assert.deepEqual(store.alarms.current, [])
  assert.ok((await store.create('/registry/d', value)).written)
})
