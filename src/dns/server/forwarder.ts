import type { Clock, Platform } from '#/platform/platform.ts'
import {
  isInZone,
  machineServers,
  zoneOf,
  type CacheSettings,
  type ForwardSettings,
} from '../dns-configuration.ts'
import { emptyResponse, recordTypes, responseCodes, type DnsMessage, type Question } from '../dns-message.ts'
import { responseCodeLabel, type DnsMetrics } from '../dns-metrics.ts'
import { aged, stale, type AnswerCache, type CachedAnswer } from './answer-cache.ts'
import { exchange, type Transport } from './exchange.ts'
import type { Server } from './upstream-servers.ts'
import type { WaitingQueries } from './waiting-queries.ts'

export interface ForwarderOptions {
  readonly platform: Platform
  readonly settings: ForwardSettings
  readonly cacheSettings: CacheSettings | undefined
  /** Shared with the other forwarders, whose entries have other prefixes. */
  readonly cache: AnswerCache
  readonly cachePrefix: string
  readonly waiting: WaitingQueries
  /** The name servers of the machine in order of preference. */
  readonly machineServers: () => Promise<readonly Server[]>
  readonly metrics: DnsMetrics
}

export interface ForwardedQuery {
  readonly question: Question
  readonly transport: Transport
  readonly dnssecOk: boolean
  readonly checkingDisabled: boolean
  /** Address of the client. */
  readonly client: string
}

export interface ForwardedAnswer {
  readonly answer: DnsMessage
  /** The time until which the same query has the same answer, but for TTLs; absent if it is not cached. */
  readonly freshUntilMs?: number
}

/** Maximum number of pending queries of a forwarder to upstream servers; further ones fail at once. */
const pendingMax = 1_000

/** Timeout for one server; clients usually retry after five seconds. */
const attemptTimeoutMs = 1_500
const attemptsMax = 3

/** RFC 8767, section 5: a client waits for this time when there is an expired answer. */
const staleAfterMs = 1_800
/** Interval of queries for a name with an expired answer while no upstream server answers. */
const retryMs = 10_000

/** Avoids IP fragmentation. */
export const udpBytesMax = 1_232

/**
 * Forwards queries to upstream servers and caches the answers. Identical concurrent queries share one upstream query;
 * therefore a forwarding loop through an upstream server ends with a timeout.
 */
export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #pending = new Map<string, Promise<DnsMessage | undefined>>()
  readonly #pendingMax: number
  /** Index of the server that answered last, or with `round_robin` of the next one. */
  #preferred = 0
  #isFull = false

  constructor(options: ForwarderOptions) {
    this.#options = options
    this.#pendingMax = Math.min(pendingMax, options.settings.concurrentMax ?? pendingMax)
  }

  /** Undefined when no server answered. */
  async forward(asked: ForwardedQuery, signal: AbortSignal): Promise<ForwardedAnswer | undefined> {
    const { metrics, cache, waiting, platform } = this.#options
    const key = this.#keyOf(asked)
    const cached = key === undefined ? undefined : cache.get(key)
    const nowMs = platform.clock.monotonicMs()
    if (key !== undefined) metrics.cacheRequests.add()
    if (cached && nowMs < cached.freshUntilMs) {
      metrics.countHit(cached.answer)
      return { answer: this.#aged(cached), freshUntilMs: cached.freshUntilMs }
    }
    if (key !== undefined) metrics.cacheMisses.add()
    const expired = cached !== undefined && nowMs < cached.staleUntilMs ? cached : undefined
    if (expired?.retryAtMs !== undefined && nowMs < expired.retryAtMs) return this.#stale(expired)
    if (!waiting.add(asked.client)) {
      metrics.forwardRejects.add()
      return undefined
    }
    try {
      const answering = this.#shareQuery(asked, key, signal)
      const answer = await (expired ? firstOf(answering, platform.clock) : answering)
      if (expired && (answer === undefined || failures.has(answer.responseCode))) {
        const isStill = key !== undefined && cache.get(key) === expired
        if (isStill) cache.set(key, { ...expired, retryAtMs: platform.clock.monotonicMs() + retryMs })
        return this.#stale(expired)
      }
      const stored = key === undefined ? undefined : cache.get(key)
      return answer && { answer, ...(stored?.answer === answer && { freshUntilMs: stored.freshUntilMs }) }
    } finally {
      waiting.delete(asked.client)
    }
  }

  /** Undefined if such answers are not cached. */
  #keyOf({ question, dnssecOk, checkingDisabled }: ForwardedQuery): string | undefined {
    const { cacheSettings, cachePrefix } = this.#options
    const name = question.name.toLowerCase()
    if (cacheSettings === undefined || zoneOf(name, cacheSettings.zones) === undefined) return undefined
    return [cachePrefix, name, question.type, question.class, dnssecOk, checkingDisabled].join(' ')
  }

  #stale({ answer }: CachedAnswer): ForwardedAnswer {
    this.#options.metrics.servedStale.add()
    return { answer: stale(answer) }
  }

  #aged({ answer, storedMs }: CachedAnswer): DnsMessage {
    return aged(answer, Math.floor((this.#options.platform.clock.monotonicMs() - storedMs) / 1_000))
  }

  #shareQuery(
    asked: ForwardedQuery,
    key: string | undefined,
    signal: AbortSignal,
  ): Promise<DnsMessage | undefined> {
    const { metrics, platform } = this.#options
    const { question, transport, dnssecOk, checkingDisabled } = asked
    const name = question.name.toLowerCase()
    const shared = [transport, name, question.type, question.class, dnssecOk, checkingDisabled].join(' ')
    const pending = this.#pending.get(shared)
    if (pending) return pending
    if (this.#pending.size >= this.#pendingMax) {
      if (!this.#isFull)
        platform.log.warn('Too many concurrent upstream DNS queries', { pendingMax: this.#pendingMax })
      this.#isFull = true
      metrics.forwardRejects.add()
      return Promise.resolve(undefined)
    }
    this.#isFull = false
    const asking = this.#tryServers(asked, signal)
      .then(answer => {
        if (key !== undefined && answer) this.#store(key, answer)
        return answer
      })
      .finally(() => this.#pending.delete(shared))
    this.#pending.set(shared, asking)
    return asking
  }

  async #tryServers(asked: ForwardedQuery, signal: AbortSignal): Promise<DnsMessage | undefined> {
    const servers = await this.#servers()
    const first = this.#firstOf(servers.length)
    let refusal: DnsMessage | undefined
    for (let attempt = 0; attempt < attemptsMax && servers.length > 0 && !signal.aborted; attempt++) {
      const place = (first + attempt) % servers.length
      const answer = await this.#ask(servers[place]!, asked, signal)
      if (answer && !failures.has(answer.responseCode)) {
        if (this.#options.settings.policy === 'last') this.#preferred = place
        return answer
      }
      refusal ??= answer
      if (answer && servers.length === 1) break
    }
    return refusal
  }

  async #servers(): Promise<readonly Server[]> {
    const { settings, machineServers: list } = this.#options
    const all: Server[] = []
    for (const each of settings.to) all.push(...(each === machineServers ? await list() : [each]))
    return all
  }

  #firstOf(count: number): number {
    const { settings, platform } = this.#options
    if (count < 2 || settings.policy === 'sequential') return 0
    if (settings.policy === 'random') return platform.random.integer('dns upstream', count)
    return settings.policy === 'round_robin' ? this.#preferred++ % count : this.#preferred
  }

  /** A truncated answer is requested again over TCP, and one that EDNS makes impossible without it. */
  async #ask(server: Server, asked: ForwardedQuery, signal: AbortSignal): Promise<DnsMessage | undefined> {
    const { settings } = this.#options
    const first = settings.transport === 'client' ? asked.transport : settings.transport
    const query: DnsMessage = {
      ...emptyResponse,
      isResponse: false,
      recursionAvailable: false,
      recursionDesired: true,
      checkingDisabled: asked.checkingDisabled,
      questions: [asked.question],
    }
    const edns = { udpBytesMax, version: 0, dnssecOk: asked.dnssecOk }
    const send = (transport: Transport, each: DnsMessage): Promise<DnsMessage | undefined> =>
      this.#exchange(server, { transport, query: each }, signal)
    let answer = await send(first, { ...query, edns })
    if (answer?.responseCode === responseCodes.formErr && answer.edns === undefined)
      answer = await send(first, query)
    if (!answer?.isTruncated || first === 'tcp') return answer
    return (await send('tcp', { ...query, edns })) ?? answer
  }

  async #exchange(
    server: Server,
    { transport, query }: { readonly transport: Transport; readonly query: DnsMessage },
    signal: AbortSignal,
  ): Promise<DnsMessage | undefined> {
    const { platform, metrics } = this.#options
    const measured = metrics.forwarded(server, platform.clock)
    const answer = await exchange({ platform, server, transport, query, timeoutMs: attemptTimeoutMs, signal })
    measured(answer && responseCodeLabel(answer.responseCode))
    return answer
  }

  #store(key: string, answer: DnsMessage): void {
    const { cache, cacheSettings, platform } = this.#options
    if (!cacheSettings || answer.isTruncated || failures.has(answer.responseCode)) return
    const name = answer.questions[0]?.name.toLowerCase() ?? ''
    const isSuccess = answer.answers.length > 0 && answer.responseCode === responseCodes.noError
    const { uncachedSuccess, uncachedDenial, successSecondsMax, denialSecondsMax, staleSecondsMax } =
      cacheSettings
    if ((isSuccess ? uncachedSuccess : uncachedDenial).some(zone => isInZone(name, zone))) return
    const seconds = Math.min(
      isSuccess ? successSecondsMax : denialSecondsMax,
      cacheTtlSeconds(answer, isSuccess),
    )
    if (seconds <= 0) return
    const storedMs = platform.clock.monotonicMs()
    const freshUntilMs = storedMs + seconds * 1_000
    cache.set(key, { answer, storedMs, freshUntilMs, staleUntilMs: freshUntilMs + staleSecondsMax * 1_000 })
  }
}

/** Undefined after a while. The query goes on and its answer is cached. */
async function firstOf<T>(answering: Promise<T>, clock: Clock): Promise<T | undefined> {
  const waited = Promise.withResolvers<undefined>()
  const timer = clock.setTimer(staleAfterMs, () => waited.resolve(undefined))
  try {
    return await Promise.race([answering, waited.promise])
  } finally {
    timer.cancel()
  }
}

/** Response codes after which the next server is tried. */
const failures: ReadonlySet<number> = new Set([
  responseCodes.formErr,
  responseCodes.servFail,
  responseCodes.notImplemented,
  responseCodes.refused,
])

/**
 * Cache duration in seconds: the smallest TTL of the answers; for negative answers that of the SOA record (RFC 2308,
 * section 5). Without one they are not cached.
 */
function cacheTtlSeconds({ answers, authorities }: DnsMessage, isSuccess: boolean): number {
  if (isSuccess) return Math.min(...answers.map(({ ttlSeconds }) => ttlSeconds))
  const authority = authorities.find(({ type }) => type === recordTypes.SOA)
  const numbers = authority?.data.at(-1)
  if (!authority || typeof numbers !== 'object' || numbers.length < 20) return 0
  return Math.min(authority.ttlSeconds, Buffer.from(numbers).readUInt32BE(16))
}
