import type { Histogram, ScalarMetric } from '#/base/metrics.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Clock } from '#/platform/platform.ts'
import type { DefineMetrics } from './define-metrics.ts'

/** Paths with their own label value; others are counted together, so that clients cannot add series. */
const paths: ReadonlySet<string> = new Set([
  'attach',
  'configz',
  'containerLogs',
  'exec',
  'healthz',
  'logs',
  'metrics',
  'metrics/cadvisor',
  'metrics/probes',
  'metrics/resource',
  'pods',
  'portForward',
  'run',
  'runningpods',
  'stats',
])

const methods: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'])

/** Port forwarding is not among them upstream either, since the path is spelled differently there. */
const longRunning: ReadonlySet<string> = new Set(['attach', 'exec'])

/** The only server here; upstream also has one without authentication. */
const serverType = 'readwrite'

/** Requests to the kubelet's server. */
export class HttpMetrics {
  readonly #requests: ScalarMetric
  readonly #running: ScalarMetric
  readonly #duration: Histogram

  constructor({ counter, gauge, histogram }: DefineMetrics) {
    const labels = ['method', 'path', 'server_type', 'long_running']
    this.#requests = counter('kubelet_http_requests_total', 'Requests received.', labels)
    this.#running = gauge('kubelet_http_inflight_requests', 'Requests in progress.', labels)
    this.#duration = histogram('kubelet_http_requests_duration_seconds', 'Time to serve a request.', {
      labels,
    })
  }

  begin({ method, target }: Pick<HttpExchange, 'method' | 'target'>, clock: Clock): Disposable {
    const path = pathLabel(target)
    const verb = methods.has(method) ? method : 'other'
    const labels = [verb, path, serverType, String(longRunning.has(path))]
    const beganMs = clock.monotonicMs()
    const running = this.#running.with(...labels)
    this.#requests.with(...labels).add()
    running.add()
    return {
      [Symbol.dispose]: () => {
        running.add(-1)
        this.#duration.with(...labels).observe((clock.monotonicMs() - beganMs) / 1_000)
      },
    }
  }
}

function pathLabel(target: string): string {
  const [, first = ''] = /^\/(metrics\/[^/?]+|[^/?]*)/.exec(target) ?? []
  return paths.has(first) ? first : 'other'
}
