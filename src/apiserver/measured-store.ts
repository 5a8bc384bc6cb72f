/** A Store that records the latency of requests by operation and resource. Watches are not timed. */
import type { Clock } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import type { Metrics, StoreSeries } from './metrics.ts'

/** Closing the returned store closes `store`. */
export function measuredStore(store: Store, metrics: Metrics, clock: Clock): Store {
  const revisions = metrics.store({ operation: 'getCurrentResourceVersion', ...subjectOf('') })
  const measured = <T>(operation: string, key: string, run: () => Promise<T>): Promise<T> => {
    return timed(metrics.store({ operation, ...subjectOf(key) }), run)
  }
  const timed = async <T>({ duration, errors }: StoreSeries, run: () => Promise<T>): Promise<T> => {
    const startedMs = clock.monotonicMs()
    try {
      return await run()
    } catch (error) {
      errors.add()
      throw error
    } finally {
      duration.observe((clock.monotonicMs() - startedMs) / 1_000)
    }
  }
  return {
    // Uses a fixed series, because every read calls it.
    revision: () => timed(revisions, () => store.revision()),
    get: (key, options) => measured('get', key, () => store.get(key, options)),
    list: options => measured('list', options.prefix, () => store.list(options)),
    create: (key, value, options) => measured('create', key, () => store.create(key, value, options)),
    update: (key, value, options) => measured('update', key, () => store.update(key, value, options)),
    delete: (key, options) => measured('delete', key, () => store.delete(key, options)),
    watch: options => store.watch(options),
    compact: revision => measured('compact', '', () => store.compact(revision)),
    compactedRevision: () => store.compactedRevision(),
    alarms: store.alarms,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

/** Parses keys such as `/registry/pods/default/web` and `/registry/batch.example.com/things/default/a`. */
function subjectOf(key: string): { readonly group: string; readonly resource: string } {
  const [, , first = '', second = ''] = key.split('/', 4)
  return first.includes('.') ? { group: first, resource: second } : { group: '', resource: first }
}
