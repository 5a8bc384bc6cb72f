/** A store with some operations replaced: by ones that delay, fail, or have a planted bug. */
import type { Store, WatchBatch, WatchOptions } from '#/store/store.ts'

/** The methods of a class are not its own properties, so they are listed. */
export function overridden(store: Store, overrides: Partial<Store>): Store {
  return {
    alarms: store.alarms,
    revision: () => store.revision(),
    compactedRevision: () => store.compactedRevision(),
    get: (...args) => store.get(...args),
    list: options => store.list(options),
    create: (...args) => store.create(...args),
    update: (...args) => store.update(...args),
    delete: (...args) => store.delete(...args),
    watch: options => store.watch(options),
    compact: revision => store.compact(revision),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    ...overrides,
  }
}

export type ChangeBatch = (batch: WatchBatch, options: WatchOptions) => WatchBatch | Promise<WatchBatch>

/** A store whose watches deliver what `change` makes of each batch. */
export function withChangedWatches(store: Store, change: ChangeBatch): Store {
  return overridden(store, {
    watch: options => {
      const watch = store.watch(options)
      return {
        requestProgress: () => watch.requestProgress(),
        async *[Symbol.asyncIterator](): AsyncGenerator<WatchBatch, void, undefined> {
          for await (const batch of watch) yield await change(batch, options)
        },
      }
    },
  })
}
