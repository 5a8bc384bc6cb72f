import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { ValueCache } from './value-cache.ts'
import type { Version } from './version.ts'

function versionOf(revision: number, sizeBytes: number): Version {
  const value = new Uint8Array(sizeBytes)
  const place = { note: undefined, location: 0, sizeBytes, older: undefined, expiresMs: 0, isDeletion: false }
  return { key: `/registry/${revision}`, revision, createRevision: revision, value, ...place }
}

/** Adds versions of these sizes; an array of them is shown as the revisions that have values. */
function start(sizeBytesMax: number) {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  const cache = new ValueCache({ clock, sizeBytesMax })
  const versions: Version[] = []
  const add = (...sizes: readonly number[]): void => {
    const added = sizes.map((size, index) => versionOf(versions.length + index + 1, size))
    versions.push(...added)
    cache.add(added)
  }
  const cached = (): number[] => versions.filter(({ value }) => value).map(({ revision }) => revision)
  return { simulation, cache, add, cached }
}

test('the oldest values are dropped when there is no space for new ones', () => {
  const { add, cached, cache } = start(100)
  add(40, 40)
  assert.deepEqual(cached(), [1, 2])
  add(60)
  assert.deepEqual(cached(), [2, 3])
  add(200)
  assert.deepEqual(cached(), [])
  cache[Symbol.dispose]()
})

test('a value is dropped after ten to twenty seconds', async () => {
  const { simulation, add, cached } = start(1_000)
  add(10)
  await simulation.advance(9_000)
  add(10, 10)
  assert.deepEqual(cached(), [1, 2, 3])
  await simulation.advance(1_000)
  assert.deepEqual(cached(), [2, 3])
  await simulation.advance(9_999)
  assert.deepEqual(cached(), [2, 3])
  await simulation.advance(1)
  assert.deepEqual(cached(), [])
  add(10)
  await simulation.advance(10_000)
  assert.deepEqual(cached(), [])
})

test('values that are dropped for lack of space do not make others older', async () => {
  const { simulation, add, cached, cache } = start(30)
  add(10, 10, 10)
  await simulation.advance(5_000)
  add(10, 10)
  assert.deepEqual(cached(), [3, 4, 5])
  await simulation.advance(5_000)
  assert.deepEqual(cached(), [4, 5])
  cache[Symbol.dispose]()
})

test('notes count for the size, also those of deletions, and are dropped with their values', () => {
  const { clock } = new Simulation({ seed: 1 }).host('a')
  const cache = new ValueCache({ clock, sizeBytesMax: 100 })
  const put = { ...versionOf(1, 40), note: new Uint8Array(30) }
  const deletion = { ...versionOf(2, 0), value: undefined, isDeletion: true, note: new Uint8Array(30) }
  cache.add([put, deletion])
  assert.deepEqual([put.value?.length, put.note?.length, deletion.note?.length], [40, 30, 30])
  cache.add([versionOf(3, 60)])
  assert.deepEqual([put.value, put.note, deletion.note?.length], [undefined, undefined, 30])
  cache.add([versionOf(4, 20)])
  assert.equal(deletion.note, undefined)
  cache[Symbol.dispose]()
})
