import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import { EmbeddedStore } from './embedded.ts'
import { openEmbeddedContent, openSnapshot, restoreSnapshot, saveSnapshot } from './snapshot.ts'
import type { Store } from './store.ts'

const place = { folder: '/data/store', markCopy: '/data/pki/store.mark' }
const path = '/data/saved.k8ts'

test('a crash during a restore leaves the old or the new store, or one that is refused and restored', async () => {
  const outcomes = new Map<string, number>()
  for (let seed = 1; seed <= 60; seed++) {
    const simulation = new Simulation({ seed, disk: { accessMs: 1 } })
    const host = simulation.host('a')
    const lost = await simulation.run(saveAndWriteMore(host))
    const restoring = restore(host)
    restoring.catch(() => undefined)
    // On this slow disk the old files are replaced in these milliseconds.
    await simulation.advance(24 + simulation.random.integer('crash', 12))
    host.crash()
    await simulation.advance(1)
    host.restart()
    const outcome = await simulation.run(open(host))
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    await simulation.run(restore(host))
    assert.equal(await simulation.run(open(host)), 'new', `seed ${seed} after ${outcome}`)
    const store = await simulation.run(EmbeddedStore.open({ platform: host, ...place }))
    assert.ok((await store.revision()) > lost)
    await simulation.run(store[Symbol.asyncDispose]())
  }
  assert.deepEqual([...outcomes.keys()].sort(), ['new', 'old', 'refused'])
})

test('a snapshot has one revision of the store while segments are written and rewritten', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const simulation = new Simulation({ seed })
    const host = simulation.host('a')
    const store = await simulation.run(
      EmbeddedStore.open({ platform: host, ...place, segmentBytesMax: 4_000 }),
    )
    let isDone = false
    const writing = writeRounds(store, () => isDone)
    for (let number = 0; number < 5; number++) {
      await simulation.advance(simulation.random.integer('pause', 50))
      await simulation.run(save(host, `${path}-${number}`))
      const snapshot = await simulation.run(openSnapshot(host, `${path}-${number}`))
      const found = await simulation.run(Array.fromAsync(snapshot.entries()))
      // The keys are written in turn, so at each revision the numbers of two rounds at most occur, the newer first.
      const rounds = found
        .sort((left, right) => (left.key < right.key ? -1 : 1))
        .map(({ value }) => value[0]!)
      const next = rounds.findIndex(round => round !== rounds[0])
      const [before, after] = next < 0 ? [rounds, []] : [rounds.slice(0, next), rounds.slice(next)]
      assert.ok(before.every(round => round === rounds[0]) && after.every(round => round === rounds[0]! - 1))
      assert.equal(
        Math.max(0, ...found.map(({ revision }) => revision)),
        found.length > 0 ? snapshot.revision : 0,
      )
    }
    isDone = true
    await simulation.run(writing)
    await simulation.run(store[Symbol.asyncDispose]())
  }
})

test('a snapshot from before a restore does not give revisions again, also without the marks', async () => {
  for (const hasMarks of [true, false]) {
    const simulation = new Simulation({ seed: 1 })
    const host = simulation.host('a')
    await simulation.run(saveAndWriteMore(host))
    await simulation.run(restore(host))
    const store = await simulation.run(EmbeddedStore.open({ platform: host, ...place }))
    const given = await simulation.run(store.create('/registry/new', Buffer.from('x')))
    await simulation.run(store[Symbol.asyncDispose]())
    if (!hasMarks) {
      await simulation.run(host.files.remove(place.markCopy))
      await simulation.run(host.files.remove(`${place.folder}/mark`))
    }
    await simulation.run(restore(host))
    const again = await simulation.run(EmbeddedStore.open({ platform: host, ...place }))
    assert.ok(given.written && (await again.revision()) > given.revision)
    await simulation.run(again[Symbol.asyncDispose]())
  }
})

/** The snapshot has ten objects, the store twenty. Returns the revision of the store. */
async function saveAndWriteMore(platform: SimulatedHost): Promise<number> {
  const store = await EmbeddedStore.open({ platform, ...place })
  for (let number = 10; number < 20; number++) await store.create(`/registry/${number}`, Buffer.from('x'))
  await save(platform, path)
  for (let number = 20; number < 30; number++) await store.create(`/registry/${number}`, Buffer.from('x'))
  const revision = await store.revision()
  await store[Symbol.asyncDispose]()
  return revision
}

async function save(platform: SimulatedHost, to: string): Promise<void> {
  const content = await openEmbeddedContent(platform, place)
  await saveSnapshot(platform, content, to)
  await content[Symbol.asyncDispose]()
}

async function restore(platform: SimulatedHost): Promise<void> {
  const snapshot = await openSnapshot(platform, path)
  await restoreSnapshot({ platform, snapshot, place, force: true })
  await snapshot[Symbol.asyncDispose]()
}

async function open(platform: SimulatedHost): Promise<'old' | 'new' | 'refused'> {
  let store: EmbeddedStore
  try {
    store = await EmbeddedStore.open({ platform, ...place })
  } catch (error) {
    assert.equal((error as Error).name, 'StoreDamagedError')
    return 'refused'
  }
  const { entries, revision } = await store.list({ prefix: '/registry/' })
  await store[Symbol.asyncDispose]()
  assert.deepEqual([entries.length, revision > 1_000_000_000], revision < 100 ? [20, false] : [10, true])
  return revision < 100 ? 'old' : 'new'
}

/** Writes the number of the round to twenty keys in turn, and compacts. */
async function writeRounds(store: Store, isDone: () => boolean): Promise<void> {
  const revisions = new Map<string, number>()
  for (let round = 1; !isDone(); round++) {
    for (let number = 10; number < 30; number++) {
      const key = `/registry/${number}`
      const value = Buffer.alloc(300, round)
      const expectedRevision = revisions.get(key)
      const result = await (expectedRevision
        ? store.update(key, value, { expectedRevision })
        : store.create(key, value))
      assert.ok(result.written)
      revisions.set(key, result.revision)
    }
    await store.compact(await store.revision())
  }
}
