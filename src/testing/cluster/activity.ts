import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { formatDurationMs } from '#/api/text/duration.ts'
import type { Clock } from '#/platform/platform.ts'

type Handle = (request: ApiRequest) => Promise<ApiResponse>

export interface ActivityOptions {
  readonly handle: Handle
  readonly clock: Clock
  readonly repeatsMax?: number
}

/**
 * Tracks requests to the API server, to detect when the cluster is idle. Leases are ignored, since heartbeats
 * and leader election never stop.
 */
export class Activity {
  readonly #handle: Handle
  readonly #clock: Clock
  readonly #repeatsMax: number
  /** Number of writes by client and path while counting. */
  readonly #counts = new Map<string, number>()
  /** Number of writes by client and path within the current second. */
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

  /** Starts counting writes by client. */
  startCounting(): void {
    this.#counts.clear()
    this.#repeats.clear()
    this.#runaway = undefined
    this.#isCounting = true
  }

  stopCounting(): void {
    this.#isCounting = false
  }

  /** True if nothing was written since the last call and no request is in progress. */
  isQuiet(): boolean {
    const isQuiet = this.#seen === this.#writes && this.#underWay === 0
    this.#seen = this.#writes
    return isQuiet
  }

  /** The client and request that exceeded the rate limit. */
  get runaway(): string | undefined {
    return this.#runaway
  }

  /** The most frequent writes, with their clients. */
  busiest(count: number): readonly string[] {
    const most = [...this.#counts].toSorted(([, left], [, right]) => right - left).slice(0, count)
    return most.map(([text, times]) => `${text} (${times} times)`)
  }

  #note({ method, path, peer, headers }: ApiRequest): void {
    this.#writes++
    if (!this.#isCounting) return
    const who =
      peer.user?.username ?? peer.certificate?.commonName ?? headers['user-agent'] ?? 'unknown client'
    const text = `${who}: ${method} ${path}`
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1)
    // Different objects are created at the same path.
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
    throw new Error(`${text}: more than ${this.#repeatsMax} times per second while settling`)
  }
}

/**
 * Maximum identical writes per second while settling; further ones fail. Without this limit, two controllers
 * that revert each other's writes would block the test forever, since no virtual time passes between a write
 * and its consequences.
 */
const repeatsMaxUsual = 10_000

function counts({ method, path }: ApiRequest): boolean {
  return method !== 'GET' && !path.startsWith('/apis/coordination.k8s.io/')
}

/** Maximum number of writes, and of keys per controller, in the message. */
const namedMax = 5

/** Explains why a cluster does not settle, for the error message of a failed test. */
export function describeActivity(world: {
  readonly withinMs: number
  readonly activity: Pick<Activity, 'busiest' | 'runaway'>
  readonly busy: ReadonlyMap<string, readonly string[]>
}): string {
  const { withinMs, activity, busy } = world
  const summary =
    activity.runaway === undefined
      ? `the cluster did not settle within ${formatDurationMs(withinMs)}`
      : `the cluster does not settle: repeated write ${activity.runaway}`
  const working = [...busy].map(([name, keys]) => `  ${name}: ${shortened(keys)}`)
  const writing = activity.busiest(namedMax).map(text => `  ${text}`)
  return [summary, ...titled('pending work:', working), ...titled('most frequent writes:', writing)].join(
    '\n',
  )
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines]
}

function shortened(keys: readonly string[]): string {
  const others = keys.length - namedMax
  return others <= 0 ? keys.join(', ') : `${keys.slice(0, namedMax).join(', ')} and ${others} others`
}
