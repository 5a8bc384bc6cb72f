/** Metrics of the reverse proxy, with the names of ingress-nginx where it has the same. */
import { MetricsRegistry } from '#/base/metrics.ts'
import type { HistogramSeries } from '#/base/metrics.ts'
import type { ScalarSeries } from '#/base/metrics.ts'

/** A request that has ended. */
export interface FinishedRequest {
  /** Of the route; empty without one. */
  readonly route: string
  readonly method: string
  readonly status: number
  readonly seconds: number
}

export type ConnectionRejection =
  | 'connections'
  | 'malformed'
  | 'headers'
  | 'slow-request'
  | 'slow-reader'
  | 'tls'

export class ProxyMetrics {
  readonly registry: MetricsRegistry
  readonly rejected
  readonly backendErrors
  readonly retries
  readonly connections
  readonly accepted
  readonly reloads
  readonly reloadFailures
  readonly lastReload
  readonly certificateExpiry
  readonly #requests
  readonly #durations
  /** By route, method and status. Entries of routes that no longer exist are removed by `retainRoutes`. */
  readonly #series = new Map<string, RouteSeries>()

  constructor(registry = new MetricsRegistry()) {
    this.registry = registry
    const prefix = 'k8ts_ingress_controller'
    this.#requests = registry.counter({
      name: `${prefix}_requests`,
      help: 'Number of client requests.',
      labels: ['route', 'method', 'status'],
    })
    this.#durations = registry.histogram({
      name: `${prefix}_request_duration_seconds`,
      help: 'Time from the head of a request to the end of its response.',
      labels: ['route'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    })
    this.rejected = registry.counter({
      name: `${prefix}_client_rejections_total`,
      help: 'Number of connections and requests refused because of a limit or a malformed message.',
      labels: ['reason'],
    })
    this.backendErrors = registry.counter({
      name: `${prefix}_upstream_errors_total`,
      help: 'Number of failed attempts at an endpoint.',
      labels: ['backend', 'reason'],
    })
    this.retries = registry.counter({
      name: `${prefix}_upstream_retries_total`,
      help: 'Number of requests sent to another endpoint, because the first one did not take them.',
      labels: ['backend'],
    })
    this.connections = registry.gauge({
      name: `${prefix}_process_connections`,
      help: 'Number of open client connections.',
      labels: ['state'],
    })
    this.accepted = registry.counter({
      name: `${prefix}_process_connections_total`,
      help: 'Number of accepted client connections.',
      labels: ['state'],
    })
    this.reloads = registry.counter({
      name: `${prefix}_success`,
      help: 'Number of configurations that have been applied.',
    })
    this.reloadFailures = registry.counter({
      name: `${prefix}_errors`,
      help: 'Number of listeners, certificates and routes that could not be applied.',
    })
    this.lastReload = registry.gauge({
      name: `${prefix}_config_last_reload_successful_timestamp_seconds`,
      help: 'Time at which the last configuration was applied.',
    })
    this.certificateExpiry = registry.gauge({
      name: `${prefix}_ssl_expire_time_seconds`,
      help: 'End of the validity of a certificate, in Unix time.',
      labels: ['host'],
    })
  }

  finished({ route, method, status, seconds }: FinishedRequest): void {
    const known = this.#series.get(route) ?? this.#addRoute(route)
    known.duration.observe(seconds)
    const key = `${method} ${status}`
    let counter = known.requests.get(key)
    if (counter === undefined) {
      const usual = usualMethods.has(method) ? method : 'OTHER'
      counter = this.#requests.with(route, usual, String(status))
      if (usual === method) known.requests.set(key, counter)
      known.labels.add(`${usual} ${status}`)
    }
    counter.value++
  }

  /** Removes the series of all other routes. */
  retainRoutes(routes: ReadonlySet<string>): void {
    for (const [route, { labels }] of this.#series) {
      if (routes.has(route) || route === '') continue
      this.#series.delete(route)
      this.#durations.remove(route)
      for (const label of labels) this.#requests.remove(route, ...label.split(' '))
    }
  }

  #addRoute(route: string): RouteSeries {
    const series = { duration: this.#durations.with(route), requests: new Map(), labels: new Set<string>() }
    this.#series.set(route, series)
    return series
  }
}

interface RouteSeries {
  readonly duration: HistogramSeries
  /** By method and status. */
  readonly requests: Map<string, ScalarSeries>
  readonly labels: Set<string>
}

/** Clients can invent methods, and each would have series of its own. */
const usualMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
])
