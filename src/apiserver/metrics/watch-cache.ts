/** Metrics of the watch cache, and of the lists and watches that are served from it. */
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'
import { alpha, beta } from './family.ts'
import type { RequestLabels } from './requests.ts'
import { BySubject } from './store-subject.ts'

export interface WatchEventSeries {
  readonly total: ScalarSeries
  /** Appears with the first event that is sent to a client outside of the process. */
  readonly sizes: () => HistogramSeries
}

/** A list that was served. */
export interface ListFigures {
  readonly group: string
  readonly resource: string
  /** The index that was used; empty for a scan. */
  readonly index: string
  readonly fetched: number
  readonly returned: number
}

/** Counters of the changes of one resource. */
interface ChangeSeries {
  readonly received: ScalarSeries
  readonly storeEvents: ScalarSeries
  readonly dispatched: ScalarSeries
  readonly revision: ScalarSeries
  /** Loads of the cache from the store. */
  readonly initializations: ScalarSeries
}

export class WatchCacheMetrics {
  readonly #eventsTotal: ScalarMetric
  readonly #eventSizes: Histogram
  readonly #watchListDuration: Histogram
  readonly #initEvents: ScalarMetric
  readonly #terminated: ScalarMetric
  readonly #readWait: Histogram
  readonly #consistentReads: ScalarMetric
  readonly #consistentReadsOf = new WeakMap<GroupPlural, ScalarSeries>()
  readonly #lists: ScalarMetric
  readonly #fetched: ScalarMetric
  readonly #returned: ScalarMetric
  readonly #storeLists: Readonly<Record<'total' | 'fetched' | 'evaluated' | 'returned', ScalarMetric>>
  /** By the key of the changed object. */
  readonly changes: BySubject<ChangeSeries>

  constructor(registry: MetricsRegistry) {
    this.#eventsTotal = registry.counter(families.eventsTotal)
    this.#eventSizes = registry.histogram(families.eventSizes)
    this.#watchListDuration = registry.histogram(families.watchListDuration)
    this.#initEvents = registry.counter(families.initEvents)
    this.#terminated = registry.counter(families.terminated)
    this.#readWait = registry.histogram(families.readWait)
    this.#consistentReads = registry.counter(families.consistentReads)
    this.#lists = registry.counter(families.lists)
    this.#fetched = registry.counter(families.fetched)
    this.#returned = registry.counter(families.returned)
    this.#storeLists = {
      total: registry.counter(families.storeLists),
      fetched: registry.counter(families.storeFetched),
      evaluated: registry.counter(families.storeEvaluated),
      returned: registry.counter(families.storeReturned),
    }
    const received = registry.counter(families.received)
    const storeEvents = registry.counter(families.storeEvents)
    const dispatched = registry.counter(families.dispatched)
    const revision = registry.gauge(families.revision)
    const initializations = registry.counter(families.initializations)
    this.changes = new BySubject(({ group, resource }) => ({
      received: received.with(group, resource),
      storeEvents: storeEvents.with(group, resource),
      dispatched: dispatched.with(group, resource),
      revision: revision.with(group, resource),
      initializations: initializations.with(group, resource),
    }))
  }

  events({ group, version, resource }: RequestLabels): WatchEventSeries {
    return {
      total: this.#eventsTotal.with(group, version, resource),
      sizes: () => this.#eventSizes.with(group, version, resource),
    }
  }

  /** The time until a watch that streams a list has sent its initial events. */
  recordWatchList({ group, version, resource, scope }: WatchListOf, seconds: number): void {
    this.#watchListDuration.with(group, version, resource, scope).observe(seconds)
  }

  recordInitEvents(group: string, resource: string, count: number): void {
    this.#initEvents.with(group, resource).add(count)
  }

  /** A watch ended because its client was too slow. */
  recordTerminated(group: string, resource: string): void {
    this.#terminated.with(group, resource).add()
  }

  /** Counts a consistent read that succeeded. */
  recordConsistentRead(resource: GroupPlural): void {
    let series = this.#consistentReadsOf.get(resource)
    if (series === undefined) {
      series = this.#consistentReads.with(resource.group, resource.plural, 'true', 'false')
      this.#consistentReadsOf.set(resource, series)
    }
    series.add()
  }

  readWait(group: string, resource: string): HistogramSeries {
    return this.#readWait.with(group, resource)
  }

  recordCachedList({ group, resource, index, fetched, returned }: ListFigures): void {
    this.#lists.with(group, resource, index).add()
    this.#fetched.with(group, resource, index).add(fetched)
    this.#returned.with(group, resource).add(returned)
  }

  recordStoreList({ group, resource, fetched, returned }: ListFigures): void {
    this.#storeLists.total.with(group, resource).add()
    this.#storeLists.fetched.with(group, resource).add(fetched)
    this.#storeLists.evaluated.with(group, resource).add(fetched)
    this.#storeLists.returned.with(group, resource).add(returned)
  }
}

/** The part of a Resource that the labels name. */
interface GroupPlural {
  readonly group: string
  readonly plural: string
}

interface WatchListOf {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly scope: string
}

const groupResource = ['group', 'resource']
const groupVersionResource = ['group', 'version', 'resource']

const families = {
  eventsTotal: alpha('apiserver_watch_events_total', 'Events sent to watches.', groupVersionResource),
  eventSizes: {
    ...alpha(
      'apiserver_watch_events_sizes',
      'Size of the events sent to watches, in bytes.',
      groupVersionResource,
    ),
    buckets: [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072],
  },
  watchListDuration: {
    ...beta('apiserver_watch_list_duration_seconds', 'Time until the initial events of a watch were sent.', [
      ...groupVersionResource,
      'scope',
    ]),
    buckets: [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60],
  },
  initEvents: alpha('apiserver_init_events_total', 'Initial events of watches.', groupResource),
  terminated: alpha(
    'apiserver_terminated_watchers_total',
    'Watches that ended because their client was too slow.',
    groupResource,
  ),
  initializations: alpha(
    'apiserver_watch_cache_initializations_total',
    'Loads of the watch cache from the store.',
    groupResource,
  ),
  readWait: {
    ...alpha(
      'apiserver_watch_cache_read_wait_seconds',
      'Time that reads waited for the watch cache to reach their revision.',
      groupResource,
    ),
    buckets: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3],
  },
  consistentReads: alpha(
    'apiserver_watch_cache_consistent_read_total',
    'Consistent reads from the watch cache.',
    ['group', 'resource', 'success', 'fallback'],
  ),
  lists: alpha('apiserver_cache_list_total', 'Lists from the watch cache.', ['group', 'resource', 'index']),
  fetched: alpha(
    'apiserver_cache_list_fetched_objects_total',
    'Objects read from the watch cache by lists.',
    ['group', 'resource', 'index'],
  ),
  returned: alpha(
    'apiserver_cache_list_returned_objects_total',
    'Objects returned by lists from the watch cache.',
    groupResource,
  ),
  storeLists: alpha('apiserver_storage_list_total', 'Lists from the store.', groupResource),
  storeFetched: alpha(
    'apiserver_storage_list_fetched_objects_total',
    'Objects read from the store by lists.',
    groupResource,
  ),
  storeEvaluated: alpha(
    'apiserver_storage_list_evaluated_objects_total',
    'Objects from the store tried by lists.',
    groupResource,
  ),
  storeReturned: alpha(
    'apiserver_storage_list_returned_objects_total',
    'Objects returned by lists from the store.',
    groupResource,
  ),
  received: alpha(
    'apiserver_watch_cache_events_received_total',
    'Changes that the watch cache received.',
    groupResource,
  ),
  storeEvents: beta(
    'apiserver_storage_events_received_total',
    'Changes that the watch of the store received.',
    groupResource,
  ),
  dispatched: alpha(
    'apiserver_watch_cache_events_dispatched_total',
    'Changes that the watch cache passed on to its watches.',
    groupResource,
  ),
  revision: alpha(
    'apiserver_watch_cache_resource_version',
    'Revision of the last change in the watch cache.',
    groupResource,
  ),
} as const
