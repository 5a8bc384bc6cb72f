import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log, Platform } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { hashContent } from './content.ts'
import { EmbeddedStore } from './embedded.ts'
import { listSnapshots, openSnapshot } from './snapshot.ts'
import { SnapshotSchedule } from './snapshot-schedule.ts'

const place = { folder: '/data/store', markCopy: '/data/pki/store.mark' }
const folder = '/data/snapshots'
const hourMs = 3_600_000
/** The disk takes some time, too. */
const minuteMs = 60_000

const ignore = (): void => undefined
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore }

function start(options: { readonly retention: number }) {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  const warnings: string[] = []
  const log: Log = { ...silent, warn: message => void warnings.push(message), with: () => log }
  const { clock, files, network, processes, random } = host
  const platform: Platform = { clock, files, network, processes, random, log }
  const schedule = new SnapshotSchedule({ platform, place, folder, intervalMs: hourMs, ...options })
  const revisions = async (): Promise<number[]> => {
    return (await simulation.run(listSnapshots(platform, folder))).map(({ revision }) => revision)
  }
  return { simulation, host, platform, schedule, revisions, warnings }
}

test('snapshots are taken every hour unless nothing changed, and the oldest are removed', async () => {
  const { simulation, platform, schedule, revisions } = start({ retention: 3 })
  const store = await simulation.run(EmbeddedStore.open({ platform, ...place }))
  const stopping = new AbortController()
  const running = schedule.run(stopping.signal)
  const seen: number[][] = []
  for (let hour = 0; hour < 6; hour++) {
    if (hour !== 2) await simulation.run(store.create(`/registry/${hour}`, Buffer.from('x')))
    await simulation.advance(hourMs + minuteMs)
    seen.push(await revisions())
  }
  // Revision 1 is the empty store; nothing was written in the third hour.
  assert.deepEqual(seen, [[2], [2, 3], [2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]])
  stopping.abort()
  await simulation.run(running)
  const [first] = await simulation.run(listSnapshots(platform, folder))
  const content = await simulation.run(openSnapshot(platform, first!.path))
  assert.equal((await simulation.run(hashContent(content))).keyCount, 3)
  await simulation.run(store[Symbol.asyncDispose]())
})

test('a restart does not begin a new interval', async () => {
  const { simulation, platform, schedule, revisions } = start({ retention: 3 })
  const store = await simulation.run(EmbeddedStore.open({ platform, ...place }))
  await simulation.run(store.create('/registry/a', Buffer.from('x')))
  await simulation.run(schedule.step())
  await simulation.run(store.create('/registry/b', Buffer.from('x')))
  await simulation.advance(hourMs / 2)
  const stopping = new AbortController()
  const running = schedule.run(stopping.signal)
  await simulation.advance(hourMs / 4)
  assert.deepEqual(await revisions(), [2])
  await simulation.advance(hourMs / 4 + minuteMs)
  assert.deepEqual(await revisions(), [2, 3])
  stopping.abort()
  await simulation.run(running)
  await simulation.run(store[Symbol.asyncDispose]())
})

test('a snapshot that fails is logged, leaves nothing behind and is taken again soon', async () => {
  const { simulation, host, platform, schedule, revisions, warnings } = start({ retention: 3 })
  const store = await simulation.run(EmbeddedStore.open({ platform, ...place }))
  await simulation.run(store.create('/registry/a', Buffer.from('x')))
  const stopping = new AbortController()
  const running = schedule.run(stopping.signal)
  host.disk.failNext('link', 'ENOSPC')
  await simulation.advance(hourMs + minuteMs)
  assert.deepEqual(warnings, ['Snapshot of the store failed, retrying'])
  assert.deepEqual(await simulation.run(platform.files.list(folder)), [])
  await simulation.advance(5 * minuteMs)
  assert.deepEqual(await revisions(), [2])
  stopping.abort()
  await simulation.run(running)
  await simulation.run(store[Symbol.asyncDispose]())
})
