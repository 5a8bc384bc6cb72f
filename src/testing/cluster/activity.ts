import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import type { Clock } from '#/platform/platform.ts'

type Handle = (request: ApiRequest) => Promise<ApiResponse>

export interface ActivityOptions {
  /** The API server. */
  readonly handle: Handle
  readonly clock: Clock
  readonly repeatsMax?: number
}

/**
 * Who asks the API server for what: a cluster in which nobody writes is at rest. Heartbeats and elections, which never
 * end, are written too, but do not count.
 */
export class Activity {
  readonly #handle: Handle
  readonly #clock: Clock
  readonly #repeatsMax: number
  /** How often each wrote each thing while it was counted. */
  readonly #counts = new Map<string, number>()
  /** The same, since the second began. */
  readonly #repeats = new Map<string, number>()
  #secondMs = 0
  #isCounting = false
  #writes = 0
  #seen = 0
  #underWay = 0
  #runaway: string | undefined

  constructor(options: ActivityOptions) {
    this.#handle = options.handle
    this.#clock = options.clock
    this.#repeatsMax = options.repeatsMax ?? repeatsMaxUsual
  }

  readonly handle: Handle = async request => {
    if (counts(request)) this.#note(request)
    this.#underWay++
    try {
      return await this.#handle(request)
    } finally {
      this.#underWay--
    }
  }

  /** From now on it is known who writes what. */
  startCounting(): void {
    this.#counts.clear()
    this.#repeats.clear()
    this.#runaway = undefined
    this.#isCounting = true
  }

  stopCounting(): void {
    this.#isCounting = false
  }

  /** Whether nothing was written since this was last asked, and nothing is asked of the server now. */
  isQuiet(): boolean {
    const isQuiet = this.#seen === this.#writes && this.#underWay === 0
    this.#seen = this.#writes
    return isQuiet
  }

  /** Who was stopped because he wrote one thing again and again. */
  get runaway(): string | undefined {
    return this.#runaway
  }

  /** Those who wrote most often, first. */
  busiest(count: number): readonly string[] {
    const most = [...this.#counts].toSorted(([, left], [, right]) => right - left).slice(0, count)
    return most.map(([text, times]) => `${text} (${times} times)`)
  }

  #note({ method, path, peer, headers }: ApiRequest): void {
    this.#writes++
    if (!this.#isCounting) return
    const who = peer.user?.username ?? peer.certificate?.commonName ?? headers['user-agent'] ?? 'somebody'
    const text = `${who}: ${method} ${path}`
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1)
    // Many things may be made at one path.
    if (method !== 'POST') this.#bound(text)
  }

  #bound(text: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#secondMs >= 1_000) {
      this.#secondMs = nowMs
      this.#repeats.clear()
    }
    const times = (this.#repeats.get(text) ?? 0) + 1
    this.#repeats.set(text, times)
    if (times <= this.#repeatsMax) return
    this.#runaway ??= text
    throw new Error(
      `${text}: more than ${this.#repeatsMax} times in a second while the cluster was to come to rest`,
    )
  }
}

/**
 * How often somebody may write one thing in a second while the cluster is to come to rest; what he writes then fails.
 * With a virtual clock no time passes between a write and what follows from it: without a bound, two who undo each
 * other's work would stop the test for ever.
 */
const repeatsMaxUsual = 10_000

function counts({ method, path }: ApiRequest): boolean {
  return method !== 'GET' && !path.startsWith('/apis/coordination.k8s.io/')
}
