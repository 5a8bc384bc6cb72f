/** The scrubber of the embedded store and its notes, on a simulated disk. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Files, Platform } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { EmbeddedStore } from './embedded.ts'

const kibibyte = 1024
const minuteMs = 60_000

test('the scrubber reads each sealed segment once in a pass', async t => {
  const { simulation, store, reads } = await openStore(t)
  await simulation.advance(30 * minuteMs)
  assert.deepEqual(reads, [], 'there is no sealed segment')
  for (let number = 0; number < 5; number++) {
    await simulation.run(store.create(`/registry/k${number}`, Buffer.alloc(70 * kibibyte, 'x')))
  }
  const sealed = [1, 2, 3, 4].map(number => `/store/0000000${number}.log`)
  await simulation.advance(20 * minuteMs)
  reads.splice(0)
  await simulation.advance(10 * minuteMs)
  assert.equal(reads.length, sealed.length)
  assert.deepEqual(new Set(reads), new Set(sealed))
  assert.deepEqual(store.alarms.current, [])
})

test('a segment that cannot be read any more raises the alarm CORRUPT', async t => {
  const { simulation, host, store } = await openStore(t)
  for (const key of ['/registry/a', '/registry/b']) {
    await simulation.run(store.create(key, Buffer.alloc(70 * kibibyte, 'x')))
  }
  host.disk.setFaults({ readErrorRate: 1 })
  await simulation.advance(20 * minuteMs)
  assert.deepEqual(store.alarms.current, [
    { type: 'CORRUPT', message: '00000001.log: cannot be read: EIO: read' },
  ])
})

test('segments that are rewritten while they are verified are not taken for damaged', async t => {
  for (let seed = 1; seed <= 8; seed++) {
    const { simulation, store, reads } = await openStore(t, { seed, scrubMs: 2_000 })
    const revisions = new Map<string, number>()
    for (let round = 0; round < 200; round++) {
      const key = `/registry/k${simulation.random.integer('key', 20)}`
      const value = Buffer.alloc(5 * kibibyte, 'x')
      const expectedRevision = revisions.get(key)
      const result = await simulation.run(
        expectedRevision === undefined
          ? store.create(key, value)
          : store.update(key, value, { expectedRevision }),
      )
      assert.ok(result.written)
      revisions.set(key, result.revision)
      if (round % 10 === 9) await simulation.run(store.compact(result.revision))
      await simulation.advance(simulation.random.integer('pause', 200))
    }
    assert.ok(reads.length > 10, 'segments are verified')
    assert.deepEqual(store.alarms.current, [], `seed ${seed}`)
  }
})

test('notes survive a restart and rewritten segments, and are damaged with their record', async t => {
  const { simulation, host, store } = await openStore(t)
  const noteOf = (number: number): Buffer => Buffer.from(`note ${number}`)
  const kept: string[] = []
  for (let number = 0; number < 40; number++) {
    const note = noteOf(number)
    const value = Buffer.alloc(5 * kibibyte, 'x')
    const created = await simulation.run(store.create('/registry/a', value, { note }))
    assert.ok(created.written)
    const options = { expectedRevision: created.revision, note: Buffer.from(`end of ${number}`) }
    assert.ok((await simulation.run(store.delete('/registry/a', options))).written)
    if (number >= 30) kept.push(`put ${number}`, `delete end of ${number}`)
  }
  const compacted = (await simulation.run(store.revision())) - kept.length
  await simulation.run(store.compact(compacted))
  await simulation.advance(60_000)
  const { files } = host
  assert.ok(
    (await simulation.run(files.list('/store'))).some(name => name.includes('-')),
    'segments are rewritten',
  )
  await simulation.run(store[Symbol.asyncDispose]())
  const open = () =>
    simulation.run(EmbeddedStore.open({ platform: host, folder: '/store', cacheBytesMax: 0 }))
  const replay = async (from: EmbeddedStore): Promise<string[]> => {
    const shown: string[] = []
    for await (const { events } of from.watch({ prefix: '/registry/', afterRevision: compacted })) {
      for (const { type, note } of events)
        shown.push(
          `${type} ${Buffer.from(note ?? '')
            .toString()
            .replace('note ', '')}`,
        )
      if (shown.length >= kept.length) break
    }
    return shown
  }
  const again = await open()
  assert.deepEqual(await simulation.run(replay(again)), kept)
  host.disk.setFaults({ readFlipRate: 1 })
  await assert.rejects(simulation.run(replay(again)), { reason: 'damaged' })
  host.disk.setFaults({ readFlipRate: 0 })
  await simulation.run(again[Symbol.asyncDispose]())
})

async function openStore(t: TestContext, { seed = 1, scrubMs = 10 * minuteMs } = {}) {
  const simulation = new Simulation({ seed })
  const host = simulation.host('a')
  const reads: string[] = []
  const { clock, random, network, processes, log } = host
  const files: Files = new Proxy(host.files, {
    get: (target, name: keyof Files) => {
      if (name !== 'read') return target[name].bind(target)
      return (path: string) => {
        reads.push(path)
        return target.read(path)
      }
    },
  })
  const platform: Platform = { clock, random, network, processes, log, files }
  const opening = EmbeddedStore.open({
    platform,
    folder: '/store',
    segmentBytesMax: 64 * kibibyte,
    cacheBytesMax: 0,
    scrubMs,
  })
  const store = await simulation.run(opening)
  reads.splice(0)
  t.after(() => simulation.run(store[Symbol.asyncDispose]()))
  return { simulation, host, store, reads }
}
