/**
 * A snapshot of 50,000 objects of 1 to 2 kB while other objects are written: its duration and size, the latency of the
 * writes with and without it, and the duration of a restore.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { openSnapshot, restoreSnapshot } from '#/store/snapshot.ts'
import { SnapshotSchedule } from '#/store/snapshot-schedule.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

const objects = 50_000
const writers = 16
/** Each writer pauses between two writes, as controllers and kubelets do. */
const pauseMs = 10

const k8ts = fileURLToPath(new URL('../../k8ts', import.meta.url))

export async function benchSnapshot(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
  try {
    await measure(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(folder: string): Promise<void> {
  const place = { folder: join(folder, 'store'), markCopy: join(folder, 'pki', 'store.mark') }
  await using store = await EmbeddedStore.open({ platform, ...place })
  for (let first = 0; first < objects; first += 500) {
    const keys = Array.from({ length: 500 }, (_, offset) => first + offset)
    await Promise.all(
      keys.map(key => store.create(`/registry/pods/${key}`, Buffer.alloc(1_000 + (key % 1_000), `${key}`))),
    )
  }
  console.log(`snapshot, ${objects} objects of 1 to 2 kB, ${writers} writers`)
  const path = join(folder, 'saved.k8ts')
  await underLoad(store, 'without a snapshot', () => platform.clock.sleep(5_000))
  await underLoad(store, 'during k8ts snapshot save', () => save(folder, path))
  const schedule = new SnapshotSchedule({
    platform,
    place,
    folder: join(folder, 'snapshots'),
    intervalMs: 3_600_000,
    retention: 24,
  })
  await underLoad(store, 'during a scheduled snapshot', () => schedule.step())
  await using snapshot = await openSnapshot(platform, path)
  const started = performance.now()
  const other = { folder: join(folder, 'restored') }
  const { keyCount } = await restoreSnapshot({ platform, snapshot, place: other })
  const size = (await platform.files.stat(path))!.sizeBytes / 1e6
  console.log(`  file ${size.toFixed(0)} MB; restored ${keyCount} keys in ${secondsSince(started)} s`)
}

/** In a process of its own, as an administrator runs it. */
async function save(folder: string, path: string): Promise<void> {
  const child = spawn(k8ts, ['snapshot', 'save', path, '--data-dir', folder], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const errors = text(child.stderr)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(await errors)
}

async function underLoad(store: EmbeddedStore, name: string, work: () => Promise<void>): Promise<void> {
  const latenciesMs: number[] = []
  let isDone = false
  const writer = async (number: number): Promise<void> => {
    for (let index = 0; !isDone; index++) {
      const started = performance.now()
      await store.create(`/registry/${name}/${number}/${index}`, Buffer.alloc(1_500))
      latenciesMs.push(performance.now() - started)
      await platform.clock.sleep(pauseMs)
    }
  }
  const writing = Array.from({ length: writers }, (_, index) => writer(index))
  const started = performance.now()
  await work()
  const seconds = secondsSince(started)
  isDone = true
  await Promise.all(writing)
  latenciesMs.sort((left, right) => left - right)
  const percentile = (share: number): string =>
    latenciesMs[Math.floor(latenciesMs.length * share)]!.toFixed(1)
  console.log(
    `  ${name}: ${seconds} s, ${latenciesMs.length} writes, p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms`,
  )
}

function secondsSince(startedMs: number): string {
  return ((performance.now() - startedMs) / 1_000).toFixed(2)
}
