/**
 * The metrics of the cluster DNS, under the names of CoreDNS, so that its dashboards work. One cache serves all server
 * blocks. https://coredns.io/plugins/metrics/
 */
import {
  MetricsRegistry,
  type Histogram,
  type HistogramSeries,
  type ScalarMetric,
  type ScalarSeries,
} from '#/base/metrics.ts'
import type { Clock } from '#/platform/platform.ts'
import type { DnsConfiguration } from './dns-configuration.ts'
import { recordTypes, responseCodes, type DnsMessage } from './dns-message.ts'

/** Port of CoreDNS' metrics. */
export const dnsMetricsPort = 9_153

export interface DnsMetricsOptions {
  /** The addresses of the server. */
  readonly listen: readonly ServerAddress[]
  readonly version: string
}

interface MeasuredCache {
  readonly evictions: number
  readonly values: () => Iterable<{ readonly answer: DnsMessage }>
}

interface ServerAddress {
  readonly host: string
  readonly port: number
}

/** A kind of queries with their answers. */
export interface AnsweredQuery {
  readonly type: number | undefined
  readonly dnssecOk: boolean
  readonly responseCode: number
  readonly transport: 'udp' | 'tcp'
  /** The part that has answered; empty if none has. */
  readonly plugin: 'hosts' | 'kubernetes' | 'forward' | ''
  /** Of the server block, with the dot at the end. */
  readonly zone: string
}

/** Counts answers of one kind. */
export interface AnswerSeries {
  readonly add: (answer: AnswerSizes) => void
}

export interface AnswerSizes {
  readonly seconds: number
  readonly requestBytes: number
  readonly responseBytes: number
}

/** A quarter of a millisecond, and twice as much each. */
const timeBuckets = Array.from({ length: 16 }, (_, index) => 0.00025 * 2 ** index)

const sizeBuckets = [0, 100, 200, 300, 400, 511, 1_023, 2_047, 4_095, 8_291, 16e3, 32e3, 48e3, 64e3]

const programmingBuckets = Array.from({ length: 20 }, (_, index) => 0.001 * 2 ** index)

const zone = '.'
const view = ''

export class DnsMetrics {
  readonly registry = new MetricsRegistry()
  readonly panics: ScalarSeries
  readonly cacheRequests: ScalarSeries
  readonly cacheMisses: ScalarSeries
  readonly servedStale: ScalarSeries
  readonly reloadFailures: ScalarSeries
  readonly forwardRejects: ScalarSeries
  readonly programmingDuration: HistogramSeries
  readonly #server: string
  readonly #family: string
  readonly #requests: ScalarMetric
  readonly #responses: ScalarMetric
  readonly #dnssecRequests: ScalarMetric
  readonly #duration: Histogram
  readonly #requestSize: Histogram
  readonly #responseSize: Histogram
  readonly #cacheHits: ScalarMetric
  readonly #forwardRequests: ScalarMetric
  readonly #forwardResponses: ScalarMetric
  readonly #proxyDuration: Histogram
  readonly #pluginEnabled: ScalarMetric
  readonly #hostsEntries: ScalarMetric
  readonly #series = new Map<string, AnswerSeries>()
  #plugins: readonly (readonly [zone: string, plugin: string])[] = []

  constructor({ listen, version }: DnsMetricsOptions) {
    const [{ host, port } = { host: '', port: 53 }] = listen
    const isIpv6 = host.includes(':')
    const server = `dns://${isIpv6 ? `[${host}]` : host}:${port}`
    const { registry } = this
    const counter = (name: string, help: string, labels: readonly string[] = []): ScalarMetric =>
      registry.counter({ name: `coredns_${name}`, help, labels })
    const common = ['server', 'zone', 'view']
    const cached = ['server', 'zones', 'view']
    this.#server = server
    this.#family = isIpv6 ? '2' : '1'
    this.#requests = counter('dns_requests_total', 'Queries.', [...common, 'proto', 'family', 'type'])
    this.#responses = counter('dns_responses_total', 'Answers.', [...common, 'rcode', 'plugin'])
    this.#dnssecRequests = counter('dns_do_requests_total', 'Queries with the DO bit.', common)
    this.#duration = this.#histogram('dns_request_duration_seconds', common, timeBuckets)
    this.#requestSize = this.#histogram('dns_request_size_bytes', [...common, 'proto'], sizeBuckets)
    this.#responseSize = this.#histogram('dns_response_size_bytes', [...common, 'proto'], sizeBuckets)
    this.panics = counter('panics_total', 'Queries that failed unexpectedly.').with()
    this.cacheRequests = counter(
      'cache_requests_total',
      'Queries for names outside of the cluster.',
      cached,
    ).with(server, zone, view)
    this.cacheMisses = counter('cache_misses_total', 'Those not in the cache.', cached).with(
      server,
      zone,
      view,
    )
    this.servedStale = counter('cache_served_stale_total', 'Expired answers sent.', cached).with(
      server,
      zone,
      view,
    )
    this.reloadFailures = counter('reload_failed_total', 'Corefiles that were invalid.').with()
    this.#pluginEnabled = registry.gauge({
      name: 'coredns_plugin_enabled',
      help: 'Always 1; the plugins of each server block.',
      labels: [...common, 'name'],
    })
    this.#hostsEntries = registry.gauge({
      name: 'coredns_hosts_entries',
      help: 'Names of the plugin hosts.',
    })
    this.#cacheHits = counter('cache_hits_total', 'Those in the cache.', [...cached, 'type'])
    this.forwardRejects = counter(
      'forward_max_concurrent_rejects_total',
      'Queries refused because too many were pending.',
    ).with()
    this.#forwardRequests = counter('forward_requests_total', 'Queries sent to an upstream server.', ['to'])
    this.#forwardResponses = counter('forward_responses_total', 'Answers of an upstream server.', [
      'to',
      'rcode',
    ])
    this.#proxyDuration = this.#histogram(
      'proxy_request_duration_seconds',
      ['proxy_name', 'to', 'rcode'],
      timeBuckets,
    )
    this.programmingDuration = this.#histogram(
      'kubernetes_dns_programming_duration_seconds',
      ['service_kind'],
      programmingBuckets,
    ).with('headless_with_selector')
    const build = { name: 'coredns_build_info', help: 'Always 1; the labels are versions.' }
    const info = registry.gauge({ ...build, labels: ['version', 'revision', 'goversion'] })
    info.with(version, '', '').value = 1
  }

  /** The counters of a kind of answers; hot paths keep them. */
  seriesOf({ type, dnssecOk, responseCode, transport, plugin, zone: of }: AnsweredQuery): AnswerSeries {
    const server = this.#server
    const labels = [transport, typeLabel(type), responseCodeLabel(responseCode), plugin, of] as const
    const key = `${labels.join(' ')} ${dnssecOk}`
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const requests = this.#requests.with(server, of, view, transport, this.#family, labels[1])
    const responses = this.#responses.with(server, of, view, labels[2], plugin)
    const withDnssec = dnssecOk ? this.#dnssecRequests.with(server, of, view) : undefined
    const duration = this.#duration.with(server, of, view)
    const requestSize = this.#requestSize.with(server, of, view, transport)
    const responseSize = this.#responseSize.with(server, of, view, transport)
    const series: AnswerSeries = {
      add: ({ seconds, requestBytes, responseBytes }) => {
        requests.add()
        responses.add()
        withDnssec?.add()
        duration.observe(seconds)
        requestSize.observe(requestBytes)
        responseSize.observe(responseBytes)
      },
    }
    // Zones are bounded by the configuration, and the other labels have few values.
    this.#series.set(key, series)
    return series
  }

  /** Shows the server blocks of a configuration. */
  showConfiguration({ servers }: DnsConfiguration): void {
    for (const [of, plugin] of this.#plugins) this.#pluginEnabled.remove(this.#server, of, view, plugin)
    this.#plugins = servers.flatMap(block => block.plugins.map(plugin => [`${block.zone}.`, plugin] as const))
    for (const [of, plugin] of this.#plugins)
      this.#pluginEnabled.with(this.#server, of, view, plugin).value = 1
    const entries = servers.reduce((sum, { hosts }) => sum + (hosts?.addresses.size ?? 0), 0)
    this.#hostsEntries.with().value = entries
    this.#series.clear()
  }

  countHit(answer: DnsMessage): void {
    this.#cacheHits.with(this.#server, zone, view, cacheType(answer)).add()
  }

  /** Counts the entries of the cache at each scrape. */
  countCached(cache: MeasuredCache): void {
    this.registry.callbackMetric({
      name: 'coredns_cache_evictions_total',
      help: 'Answers removed from the full cache.',
      type: 'counter',
      labels: ['server', 'zones', 'view', 'type'],
      read: () => [[[this.#server, zone, view, 'success'], cache.evictions]],
    })
    this.registry.callbackMetric({
      name: 'coredns_cache_entries',
      help: 'Answers in the cache.',
      type: 'gauge',
      labels: ['server', 'zones', 'view', 'type'],
      read: () => {
        const types = Array.from(cache.values(), ({ answer }) => cacheType(answer))
        return (['success', 'denial'] as const).map(type => {
          return [[this.#server, zone, view, type], types.filter(each => each === type).length]
        })
      },
    })
  }

  /** Begins a query to an upstream server; the result ends it, with undefined if no answer came. */
  forwarded({ host, port }: ServerAddress, clock: Clock): (rcode: string | undefined) => void {
    const to = `${host.includes(':') ? `[${host}]` : host}:${port}`
    const beganMs = clock.monotonicMs()
    this.#forwardRequests.with(to).add()
    return rcode => {
      if (rcode === undefined) return
      this.#forwardResponses.with(to, rcode).add()
      this.#proxyDuration.with('forward', to, rcode).observe((clock.monotonicMs() - beganMs) / 1_000)
    }
  }

  #histogram(name: string, labels: readonly string[], buckets: readonly number[]): Histogram {
    return this.registry.histogram({ name: `coredns_${name}`, help: helpOf[name] ?? '', labels, buckets })
  }
}

const helpOf: Readonly<Record<string, string>> = {
  dns_request_duration_seconds: 'Time to answer a query.',
  dns_request_size_bytes: 'Size of a query.',
  dns_response_size_bytes: 'Size of an answer.',
  proxy_request_duration_seconds: 'Time until an upstream server answered.',
  kubernetes_dns_programming_duration_seconds:
    'Time from a change of endpoints until the names of their service show it.',
}

function cacheType({ responseCode, answers }: DnsMessage): 'success' | 'denial' {
  return responseCode === responseCodes.noError && answers.length > 0 ? 'success' : 'denial'
}

/** Types with a label value of their own; clients can ask for any number. */
const typeNames: ReadonlyMap<number | undefined, string> = new Map([
  ...Object.entries(recordTypes)
    .filter(([name]) => name !== 'OPT')
    .map(([name, number]) => [number, name] as const),
  [15, 'MX'],
  [43, 'DS'],
  [46, 'RRSIG'],
  [47, 'NSEC'],
  [48, 'DNSKEY'],
  [50, 'NSEC3'],
  [65, 'HTTPS'],
])

export function typeLabel(type: number | undefined): string {
  return typeNames.get(type) ?? 'other'
}

const responseCodeNames: ReadonlyMap<number, string> = new Map([
  [0, 'NOERROR'],
  [1, 'FORMERR'],
  [2, 'SERVFAIL'],
  [3, 'NXDOMAIN'],
  [4, 'NOTIMP'],
  [5, 'REFUSED'],
  [16, 'BADVERS'],
])

export function responseCodeLabel(code: number): string {
  return responseCodeNames.get(code) ?? 'OTHER'
}
