import type { Store } from './store.ts'

/** Waits before and after each read and write; watches and compaction are not delayed. */
export function delayedStore(store: Store, delay: () => Promise<void>): Store {
  const late = async <T>(work: () => Promise<T>): Promise<T> => {
    await delay()
    const result = await work()
    await delay()
    return result
  }
  return {
    revision: () => store.revision(),
    get: (key, options) => late(() => store.get(key, options)),
    list: options => late(() => store.list(options)),
    create: (key, value, options) => late(() => store.create(key, value, options)),
    update: (key, value, options) => late(() => store.update(key, value, options)),
    delete: (key, options) => late(() => store.delete(key, options)),
    watch: options => store.watch(options),
    compact: revision => store.compact(revision),
    compactedRevision: () => store.compactedRevision(),
    alarms: store.alarms,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}
