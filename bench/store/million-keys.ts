/**
 * One million keys: startup time, memory per key, and that the cost of a list page does not depend on its
 * position.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore } from '#/store/embedded.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

export async function benchMillionKeys(keys = 1_000_000): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
  try {
    await fill(folder, keys)
    await measure(folder, keys)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(folder: string, keys: number): Promise<void> {
  await using store = await EmbeddedStore.open({ platform, folder })
  const value = Buffer.alloc(500, 'v')
  for (let start = 0; start < keys; start += 1_000) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, offset) => store.create(keyOf(start + offset), value)),
    )
  }
}

async function measure(folder: string, keys: number): Promise<void> {
  const memoryBefore = memoryInUse()
  const started = performance.now()
  await using store = await EmbeddedStore.open({ platform, folder })
  const startMs = performance.now() - started
  const bytesPerKey = (memoryInUse() - memoryBefore) / keys
  const fileMb = statSync(join(folder, 'store.db')).size / 1e6
  console.log(
    `${keys} keys: file ${fileMb.toFixed(0)} MB, start ${(startMs / 1000).toFixed(2)} s,` +
      ` memory per key ${bytesPerKey.toFixed(0)} B`,
  )

  const early = await store.revision()
  for (let index = 0; index < 20_000; index++) {
    const key = keyOf((index * 7_919) % keys)
    void store.update(key, Buffer.from('new'), { expectedRevision: (await store.get(key))!.revision })
  }
  await store.create('/registry/pods/zzz', Buffer.from('x'))
  const late = await store.revision()
  for (const [name, revision] of [
    ['now', undefined],
    ['before 20,000 updates', early],
    ['at the last of them', late],
  ] as const) {
    const costs: string[] = []
    for (const share of [0, 0.5, 0.99]) {
      const after = `/registry/pods/namespace-${String(Math.floor(100 * share)).padStart(2, '0')}/`
      const begun = performance.now()
      for (let round = 0; round < rounds; round++) {
        await store.list({ prefix: '/registry/pods/', after, limit: 500, ...(revision && { revision }) })
      }
      costs.push(`${((performance.now() - begun) / rounds).toFixed(2)} ms`)
    }
    console.log(`  list of 500 ${name}: at the beginning, middle, end: ${costs.join(', ')}`)
  }
}

const rounds = 20

function memoryInUse(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function keyOf(index: number): string {
  return `/registry/pods/namespace-${String(index % 100).padStart(2, '0')}/pod-${String(index).padStart(7, '0')}`
}
