/** Events per second to watchers of one prefix, with and without watchers of other prefixes. */
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

export async function benchWatch(): Promise<void> {
  console.log('watch, events a second delivered to all watchers together')
  for (const watchers of [1, 100, 1_000]) {
    const rate = await measure({ watchers, others: 0 })
    console.log(
      `  ${watchers} watchers of the prefix: ${Math.round(rate * watchers)} (${Math.round(rate)} writes a second)`,
    )
  }
  const alone = await measure({ watchers: 1, others: 0 })
  const beside = await measure({ watchers: 1, others: 10_000 })
  console.log(
    `  1 watcher beside 10,000 of other prefixes: ${(beside / alone).toFixed(2)} of its speed alone`,
  )
}

/** Writes per second, each seen by all watchers of its prefix. */
async function measure(setup: { readonly watchers: number; readonly others: number }): Promise<number> {
  await using store = await MemoryStore.open({ platform })
  const controller = new AbortController()
  const writes = Math.max(2_000, Math.floor(200_000 / setup.watchers))
  const options = { afterRevision: await store.revision(), signal: controller.signal }
  const others = Array.from({ length: setup.others }, (_, index) =>
    count(store, `/registry/other${index}/`, options, 1),
  )
  const watchers = Array.from({ length: setup.watchers }, () =>
    count(store, '/registry/pods/', options, writes),
  )
  await platform.clock.turn()
  const started = performance.now()
  const value = Buffer.alloc(500)
  for (let index = 0; index < writes; index += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, offset) => store.create(`/registry/pods/${index + offset}`, value)),
    )
  }
  await Promise.all(watchers)
  const seconds = (performance.now() - started) / 1_000
  controller.abort()
  await Promise.all(others)
  return writes / seconds
}

/** Resolves after `expected` events, or when the watch has ended. */
async function count(
  store: Store,
  prefix: string,
  options: { afterRevision: number; signal: AbortSignal },
  expected: number,
): Promise<void> {
  let seen = 0
  for await (const { events } of store.watch({ prefix, ...options })) {
    seen += events.length
    if (seen >= expected) return
  }
}
