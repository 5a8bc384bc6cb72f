/** A Store that records the latency of requests by operation and resource. Watches are not timed. */
import type { Clock } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import type { Metrics } from './metrics.ts'
import type { StoreSeries } from './metrics/storage.ts'
import { BySubject } from './metrics/store-subject.ts'

/** Closing the returned store closes `store`. */
export function measuredStore(store: Store, { storage }: Metrics, clock: Clock): Store {
  const seriesOf = (operation: string): BySubject<StoreSeries> =>
    new BySubject(subject => storage.requests({ operation, ...subject }))
  const [get, list, create] = [seriesOf('get'), seriesOf('list'), seriesOf('create')]
  const [update, remove, compact] = [seriesOf('update'), seriesOf('delete'), seriesOf('compact')]
  const revisions = storage.requests({ operation: 'getCurrentResourceVersion', group: '', resource: '' })
  const timed = async <T>({ total, duration, errors }: StoreSeries, run: () => Promise<T>): Promise<T> => {
    const startedMs = clock.monotonicMs()
    total.add()
    try {
      return await run()
    } catch (error) {
      errors().add()
      throw error
    } finally {
      duration.observe((clock.monotonicMs() - startedMs) / 1_000)
    }
  }
  return {
    revision: () => timed(revisions, () => store.revision()),
    get: (key, options) => timed(get.of(key), () => store.get(key, options)),
    list: options => timed(list.of(options.prefix), () => store.list(options)),
    create: (key, value, options) => timed(create.of(key), () => store.create(key, value, options)),
    update: (key, value, options) => timed(update.of(key), () => store.update(key, value, options)),
    delete: (key, options) => timed(remove.of(key), () => store.delete(key, options)),
    watch: options => store.watch(options),
    compact: revision => timed(compact.of(''), () => store.compact(revision)),
    compactedRevision: () => store.compactedRevision(),
    alarms: store.alarms,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}
