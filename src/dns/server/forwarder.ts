import { LruMap } from '#/base/lru-map.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  emptyResponse,
  recordTypes,
  responseCodes,
  type DnsMessage,
  type Question,
  type ResourceRecord,
} from '../dns-message.ts'
import { responseCodeLabel, type DnsMetrics } from '../dns-metrics.ts'
import { exchange, type Transport } from './exchange.ts'
import type { Server } from './upstream-servers.ts'

export interface ForwarderOptions {
  readonly platform: Platform
  /** Upstream servers in order of preference. */
  readonly servers: () => Promise<readonly Server[]>
  readonly metrics: DnsMetrics
}

export interface ForwardedQuery {
  readonly question: Question
  readonly transport: Transport
  readonly dnssecOk: boolean
  readonly checkingDisabled: boolean
}

/** Maximum number of pending queries; further ones fail at once. */
const pendingMax = 1_000

/** Cache size; `cachedSecondsMax` limits the TTL, since records may change. */
const cachedMax = 10_000
const cachedSecondsMax = 30

/** Timeout for one server; clients usually retry after five seconds. */
const attemptTimeoutMs = 1_500
const attemptsMax = 3

/** Avoids IP fragmentation. */
export const udpBytesMax = 1_232

/**
 * Forwards queries for names outside of the cluster domain. Identical concurrent queries share one upstream
 * query; therefore a forwarding loop through an upstream server ends with a timeout.
 */
export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #pending = new Map<string, Promise<DnsMessage | undefined>>()
  readonly #cache = new LruMap<string, CachedAnswer>(cachedMax)
  /** Index of the server that answered last. */
  #preferred = 0
  #isFull = false

  constructor(options: ForwarderOptions) {
    this.#options = options
    options.metrics.countCached(() => this.#cache.values())
  }

  /** Undefined when no server answered. */
  forward(asked: ForwardedQuery, signal: AbortSignal): Promise<DnsMessage | undefined> {
    const { metrics } = this.#options
    const { clock, log } = this.#options.platform
    const { question, transport, dnssecOk, checkingDisabled } = asked
    const key = [question.name.toLowerCase(), question.type, question.class, dnssecOk, checkingDisabled].join(
      ' ',
    )
    const cached = this.#cache.get(key)
    const ageSeconds = cached ? (clock.monotonicMs() - cached.storedMs) / 1_000 : Infinity
    metrics.cacheRequests.add()
    if (cached && ageSeconds < cached.seconds) {
      metrics.countHit(cached.answer)
      return Promise.resolve(aged(cached.answer, Math.floor(ageSeconds)))
    }
    metrics.cacheMisses.add()
    const pending = this.#pending.get(`${key} ${transport}`)
    if (pending) return pending
    if (this.#pending.size >= pendingMax) {
      if (!this.#isFull) log.warn('Too many concurrent upstream DNS queries', { pendingMax })
      this.#isFull = true
      metrics.forwardRejects.add()
      return Promise.resolve(undefined)
    }
    this.#isFull = false
    const asking = this.#tryServers(asked, signal)
      .then(answer => {
        this.#store(key, answer)
        return answer
      })
      .finally(() => this.#pending.delete(`${key} ${transport}`))
    this.#pending.set(`${key} ${transport}`, asking)
    return asking
  }

  async #tryServers(asked: ForwardedQuery, signal: AbortSignal): Promise<DnsMessage | undefined> {
    const { platform, metrics } = this.#options
    const servers = await this.#options.servers()
    const query: DnsMessage = {
      ...emptyResponse,
      isResponse: false,
      recursionAvailable: false,
      recursionDesired: true,
      checkingDisabled: asked.checkingDisabled,
      questions: [asked.question],
      edns: { udpBytesMax, version: 0, dnssecOk: asked.dnssecOk },
    }
    let refusal: DnsMessage | undefined
    for (let attempt = 0; attempt < attemptsMax && servers.length > 0 && !signal.aborted; attempt++) {
      const place = (this.#preferred + attempt) % servers.length
      const server = servers[place]!
      const { transport } = asked
      const measured = metrics.forwarded(server, platform.clock)
      const timeoutMs = attemptTimeoutMs
      const answer = await exchange({ platform, server, transport, query, timeoutMs, signal })
      measured(answer && responseCodeLabel(answer.responseCode))
      if (answer && !failures.has(answer.responseCode)) {
        this.#preferred = place
        return answer
      }
      refusal ??= answer
      if (answer && servers.length === 1) break
    }
    return refusal
  }

  #store(key: string, answer: DnsMessage | undefined): void {
    if (!answer || answer.isTruncated || failures.has(answer.responseCode)) return
    const seconds = Math.min(cachedSecondsMax, cacheTtlSeconds(answer))
    if (seconds > 0)
      this.#cache.set(key, { answer, seconds, storedMs: this.#options.platform.clock.monotonicMs() })
  }
}

interface CachedAnswer {
  readonly answer: DnsMessage
  readonly seconds: number
  readonly storedMs: number
}

/** Response codes after which the next server is tried. */
const failures: ReadonlySet<number> = new Set([
  responseCodes.formErr,
  responseCodes.servFail,
  responseCodes.notImplemented,
  responseCodes.refused,
])

/**
 * Cache duration in seconds: the smallest TTL of the answers; for negative answers that of the SOA record
 * (RFC 2308).
 */
function cacheTtlSeconds({ answers, authorities, responseCode }: DnsMessage): number {
  if (answers.length > 0 && responseCode === responseCodes.noError) {
    return Math.min(...answers.map(({ ttlSeconds }) => ttlSeconds))
  }
  const authority = authorities.find(({ type }) => type === recordTypes.SOA)
  const numbers = authority?.data.at(-1)
  if (!authority || typeof numbers !== 'object' || numbers.length < 20) return 0
  return Math.min(authority.ttlSeconds, Buffer.from(numbers).readUInt32BE(16))
}

function aged(answer: DnsMessage, seconds: number): DnsMessage {
  if (seconds === 0) return answer
  const older = (records: readonly ResourceRecord[]): readonly ResourceRecord[] => {
    return records.map(record => ({ ...record, ttlSeconds: Math.max(0, record.ttlSeconds - seconds) }))
  }
  return {
    ...answer,
    answers: older(answer.answers),
    authorities: older(answer.authorities),
    additionals: older(answer.additionals),
  }
}
