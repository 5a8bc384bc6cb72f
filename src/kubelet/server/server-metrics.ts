/** Metrics of the kubelet itself. */
import { MetricsRegistry, type ScalarMetric } from '#/base/metrics.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { KubeletView } from '../kubelet-view.ts'

/** Paths with their own label value; others are aggregated to bound cardinality. */
const paths: ReadonlySet<string> = new Set([
  'attach',
  'configz',
  'containerLogs',
  'exec',
  'healthz',
  'logs',
  'metrics',
  'pods',
  'portForward',
  'run',
  'runningpods',
  'stats',
])

const methods: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'])

export class ServerMetrics {
  readonly #registry = new MetricsRegistry()
  readonly #requests: ScalarMetric
  readonly #running: ScalarMetric
  #pods = 0
  #containers = 0

  constructor(usage: (() => ProcessUsage) | undefined) {
    const labels = ['method', 'path']
    this.#requests = this.#registry.counter({
      name: 'kubelet_http_requests_total',
      help: 'Number of the http requests received since the server started',
      labels,
    })
    this.#running = this.#registry.gauge({
      name: 'kubelet_http_inflight_requests',
      help: 'Number of the inflight http requests',
      labels,
    })
    this.#read('kubelet_running_pods', 'Number of pods that have a running pod sandbox', () => this.#pods)
    this.#read('kubelet_running_containers', 'Number of containers currently running', () => this.#containers)
    if (usage !== undefined) this.#readProcess(usage)
  }

  begin({ method, target }: HttpExchange): { end(): void } {
    const [, first = ''] = /^\/([^/?]*)/.exec(target) ?? []
    const path = paths.has(first) ? first : 'other'
    const verb = methods.has(method) ? method : 'other'
    const running = this.#running.with(verb, path)
    this.#requests.with(verb, path).add(1)
    running.add(1)
    return { end: () => running.add(-1) }
  }

  render(view: KubeletView): string {
    const pods = view.pods()
    this.#pods = pods.filter(({ metadata }) => view.sandboxId(metadata.uid) !== undefined).length
    this.#containers = pods
      .flatMap(({ status }) => status?.containerStatuses ?? [])
      .filter(({ state }) => state?.running !== undefined).length
    return this.#registry.render()
  }

  #read(name: string, help: string, figure: () => number): void {
    this.#registry.callbackMetric({ name, help, type: 'gauge', read: () => [[[], figure()]] })
  }

  #readProcess(usage: () => ProcessUsage): void {
    this.#read(
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      () => usage().cpuSeconds,
    )
    this.#read('process_resident_memory_bytes', 'Resident memory size in bytes.', () => usage().residentBytes)
    this.#read('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', () => {
      return usage().startedMs / 1_000
    })
  }
}
