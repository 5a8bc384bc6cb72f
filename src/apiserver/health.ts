/**
 * The `/healthz`, `/livez` and `/readyz` endpoints, with Kubernetes' response texts. Responses do not
 * disclose the reason of a failure; it is logged.
 */
import { quote } from '#/api/text/quote.ts'
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
    const failure = await this.#run(check)
    if (failure === undefined) return answer(200, 'ok')
    return answer(500, `internal server error: ${failure.message}\n`)
  }

  async #all(endpoint: string, checks: readonly HealthCheck[], query: URLSearchParams): Promise<ApiResponse> {
    const excluded = new Set(query.getAll('exclude'))
    const failed: string[] = []
    const lines = await Promise.all(
      checks.map(async check => {
        if (excluded.has(check.name)) return `[+]${check.name} excluded: ok\n`
        const failure = await this.#run(check)
        if (failure === undefined) return `[+]${check.name} ok\n`
        failed.push(check.name)
        this.#log.warn(`${endpoint} ${check.name}`, 'health check failed', {
          endpoint,
          check: check.name,
          error: failure,
        })
        return `[-]${check.name} failed: reason withheld\n`
      }),
    )
    const unknown = [...excluded].filter(name => checks.every(check => check.name !== name)).sort()
    if (unknown.length > 0) {
      const names = unknown.map(quote).join(',')
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}\n`)
    }
    if (failed.length > 0) return answer(500, `${lines.join('')}${endpoint} check failed\n`)
    return answer(200, query.has('verbose') ? `${lines.join('')}${endpoint} check passed\n` : 'ok')
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

function answer(status: number, text: string): ApiResponse {
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
