/**
 * A million updates of a thousand keys with five minutes of history: the resulting file size, and the longest
 * pause of writes.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodePlatform } from '#/platform/node.ts'
import { Compactor } from '#/store/compactor.ts'
import { EmbeddedStore } from '#/store/embedded.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

const updates = 1_000_000
const keys = 1_000
const keepMs = 300_000
const valueBytes = 700

/** Virtual milliseconds between two updates: the million updates take about half an hour of virtual time. */
const updateEveryMs = 2

export async function benchSpace(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
  try {
    await measure(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(folder: string): Promise<void> {
  await using store = await EmbeddedStore.open({ platform, folder })
  let virtualMs = 0
  const clock = { ...platform.clock, monotonicMs: () => virtualMs }
  const compactor = new Compactor({ store, clock, log: platform.log, keepMs })
  const revisions = new Map<string, number>()
  const value = Buffer.alloc(valueBytes, 'v')
  let longestPauseMs = 0
  let compacting = Promise.resolve()
  let nextStepMs = 0
  let largestBytes = 0
  let done = 0
  const writer = async (number: number): Promise<void> => {
    for (let index = number; index < updates; index += 32) {
      const key = `/registry/pods/default/pod-${index % keys}-${number}`
      const expectedRevision = revisions.get(key)
      const started = performance.now()
      const result = await (expectedRevision
        ? store.update(key, value, { expectedRevision })
        : store.create(key, value))
      longestPauseMs = Math.max(longestPauseMs, performance.now() - started)
      if (!result.written) throw new Error(`${key} was not written`)
      revisions.set(key, result.revision)
      virtualMs = ++done * updateEveryMs
      if (virtualMs < nextStepMs) continue
      nextStepMs += keepMs / 10
      compacting = compacting.then(() => compactor.step())
      largestBytes = Math.max(largestBytes, fileBytes(folder))
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: 32 }, (_, index) => writer(index)))
  await compacting
  const seconds = (performance.now() - started) / 1_000
  const kept = ((await store.revision()) - (await store.compactedRevision()) + keys) * valueBytes
  largestBytes = Math.max(largestBytes, fileBytes(folder))
  console.log(`space, ${updates} updates of ${keys} keys in ${seconds.toFixed(1)} s`)
  console.log(
    `  kept ${mb(kept)} of values, file ${mb(fileBytes(folder))}` +
      ` (${ratio(fileBytes(folder), kept)} times what is kept),` +
      ` at its largest ${mb(largestBytes)}`,
  )
  console.log(`  longest write ${longestPauseMs.toFixed(1)} ms, compaction running all the time`)
}

function fileBytes(folder: string): number {
  return ['store.db', 'store.db-wal'].reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

function ratio(part: number, whole: number): string {
  return (part / whole).toFixed(2)
}
