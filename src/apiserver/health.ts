/**
 * The `/healthz`, `/livez` and `/readyz` endpoints, with Kubernetes' response texts. Responses do not
 * disclose the reason of a failure; it is logged.
 */
import { checkReport, excludedChecks, healthReport, type HealthReport } from '#/api/health-report.ts'
import { HealthCheckMetrics } from '#/base/health-check-metrics.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Clock, Log } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { ApiResponse } from './request.ts'

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthCheck {
  readonly name: string
  readonly endpoints: readonly HealthEndpoint[]
  /** Throws or rejects on failure. A check that times out has failed. */
  readonly check: () => void | Promise<void>
}

export interface HealthOptions {
  readonly clock: Clock
  readonly log: Log
  readonly checkTimeoutMs?: number
}

const everywhere: readonly HealthEndpoint[] = ['healthz', 'livez', 'readyz']

export class Health {
  readonly #clock: Clock
  readonly #log: ThrottledLog
  readonly #checkTimeoutMs: number
  readonly #checks: HealthCheck[]
  #isStopping = false
  /** Results of the checks, for `/metrics/slis`. */
  readonly slis = new MetricsRegistry()
  readonly #metrics = new HealthCheckMetrics(this.slis)

  constructor({ clock, log, checkTimeoutMs = 2_000 }: HealthOptions) {
    this.#clock = clock
    this.#log = new ThrottledLog({ clock, log })
    this.#checkTimeoutMs = checkTimeoutMs
    const shutdown = (): void => {
      if (this.#isStopping) throw new Error('process is shutting down')
    }
    this.#checks = [
      { name: 'ping', endpoints: everywhere, check: () => undefined },
      { name: 'log', endpoints: everywhere, check: () => undefined },
      { name: 'shutdown', endpoints: ['readyz'], check: shutdown },
    ]
  }

  /** Checks are listed in the order of registration, shutdown last. */
  add(check: HealthCheck): void {
    this.#checks.splice(-1, 0, check)
  }

  /** Fails `/readyz`, so that load balancers choose another server. */
  stop(): void {
    this.#isStopping = true
  }

  /** The endpoints and their checks, as `/` lists them. */
  get paths(): readonly string[] {
    const ofChecks = this.#checks.flatMap(({ name, endpoints }) => endpoints.map(each => `/${each}/${name}`))
    return [...everywhere.map(endpoint => `/${endpoint}`), ...ofChecks]
  }

  /** Undefined for other paths and unknown checks. */
  async answer(path: string, query: URLSearchParams): Promise<ApiResponse | undefined> {
    const [, endpoint, name] = /^\/(healthz|livez|readyz)(?:\/(.*))?$/.exec(path) ?? []
    if (endpoint === undefined) return undefined
    const checks = this.#checks.filter(({ endpoints }) => (endpoints as readonly string[]).includes(endpoint))
    if (name === undefined || name === '') return this.#all(endpoint, checks, query)
    const check = checks.find(each => each.name === name)
    return check && this.#one(check)
  }

  async #one(check: HealthCheck): Promise<ApiResponse> {
    const report = checkReport((await this.#run(check))?.message)
    return report.status === 200 ? { ...answer(report), headers: {} } : answer(report)
  }

  async #all(endpoint: string, checks: readonly HealthCheck[], query: URLSearchParams): Promise<ApiResponse> {
    const excluded = excludedChecks(query)
    const results = await Promise.all(
      checks.map(async check => {
        const { name } = check
        if (excluded.has(name)) return { name, isPassed: true }
        const error = await this.#run(check)
        const isPassed = error === undefined
        this.#metrics.observe(endpoint, name, isPassed)
        if (!isPassed)
          this.#log.warn(`${endpoint} ${name}`, 'Health check failed', { endpoint, check: name, error })
        return { name, isPassed }
      }),
    )
    return answer(healthReport(endpoint, results, query))
  }

  async #run({ check }: HealthCheck): Promise<Error | undefined> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = this.#clock.setTimer(this.#checkTimeoutMs, () => reject(new Error('timed out')))
    try {
      await Promise.race([check(), promise])
      return undefined
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    } finally {
      timer.cancel()
    }
  }
}

function answer({ status, text }: HealthReport): ApiResponse {
  return {
    status,
    headers: { 'x-content-type-options': 'nosniff' },
    body: {
      type: 'value',
      mediaType: 'text/plain; charset=utf-8',
      value: text,
      bytes: () => [Buffer.from(text)],
    },
  }
}
