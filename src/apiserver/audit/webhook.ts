/** Audit backend that posts events to a webhook in batches. Events are dropped after the last retry. */
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { TokenBucket } from '#/base/token-bucket.ts'
import type { Platform } from '#/platform/platform.ts'
import type { AuditBackend, AuditMode } from '../audit.ts'
import { LineQueue } from './line-queue.ts'

export interface AuditWebhookSettings {
  readonly mode?: AuditMode
  readonly bufferEventsMax?: number
  readonly batchEventsMax?: number
  /** Maximum time that the first event of a batch waits for more events. */
  readonly batchMsMax?: number
  /** Rate limit of batches; `undefined` disables it. */
  readonly batches?: { readonly perSecond: number; readonly burst: number } | undefined
  /** Delay after the first failure. */
  readonly initialBackoffMs?: number
}

export interface AuditWebhookOptions extends AuditWebhookSettings {
  readonly platform: Platform
  /** Posts an `EventList` as JSON. Rejects if the webhook did not accept it. */
  readonly post: (body: string) => Promise<void>
  /** Called with the number of events that are lost. */
  readonly onLost?: (count: number) => void
}

export class AuditWebhook implements AuditBackend {
  readonly #options: Required<Omit<AuditWebhookOptions, 'onLost'>> & Pick<AuditWebhookOptions, 'onLost'>
  readonly #queue: LineQueue
  readonly #bucket: TokenBucket | undefined
  readonly #stopping = new AbortController()

  constructor(options: AuditWebhookOptions) {
    this.#options = { ...defaults, ...options }
    this.#queue = new LineQueue({ linesMax: this.#options.bufferEventsMax, bytesMax: bufferBytesMax })
    const { batches } = this.#options
    this.#bucket = batches && new TokenBucket(batches, options.platform.clock.monotonicMs())
  }

  get mode(): AuditMode {
    return this.#options.mode
  }

  /** In the blocking modes each event is sent alone and immediately. */
  record(line: string): Promise<boolean> | undefined {
    if (this.#options.mode !== 'batch') return this.#send([line], this.#stopping.signal)
    this.#queue.push(line)
    return undefined
  }

  async run(signal: AbortSignal): Promise<void> {
    const {
      platform: { clock, log },
    } = this.#options
    while (!signal.aborted || this.#queue.length > 0) {
      await this.#queue.waitForLine(signal)
      await this.#fill(signal)
      const dropped = this.#queue.takeDropped()
      if (dropped > 0) {
        this.#options.onLost?.(dropped)
        log.error('audit webhook backend queue full, events dropped', { dropped })
      }
      const lines = this.#queue.take(this.#options.batchEventsMax)
      if (lines.length === 0) continue
      const delayMs = this.#bucket?.reserve(clock.monotonicMs()) ?? 0
      if (delayMs > 0 && !signal.aborted) await clock.sleep(delayMs, signal).catch(() => undefined)
      await this.#send(lines, signal)
    }
    this.#stopping.abort()
  }

  /** Waits until the batch is full or `batchMsMax` has passed. */
  async #fill(signal: AbortSignal): Promise<void> {
    const {
      platform: { clock },
      batchEventsMax,
      batchMsMax,
    } = this.#options
    const untilMs = clock.monotonicMs() + batchMsMax
    while (!signal.aborted && this.#queue.length > 0 && this.#queue.length < batchEventsMax) {
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0) return
      await clock.sleep(Math.min(leftMs, fillCheckMs), signal).catch(() => undefined)
    }
  }

  /** Resolves to true if the events were accepted, possibly after retries. */
  async #send(lines: readonly string[], signal: AbortSignal): Promise<boolean> {
    const {
      platform: { clock, log, random },
      post,
      initialBackoffMs,
    } = this.#options
    const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${lines.join(',')}]}`
    const backoff: Backoff = { ...backoffShape, initialMs: initialBackoffMs }
    for (let failures = 1; ; failures++) {
      try {
        await post(body)
        return true
      } catch (error) {
        if (failures >= attemptsMax || signal.aborted) {
          this.#options.onLost?.(lines.length)
          log.error('failed to send audit events to webhook', { lost: lines.length, error })
          return false
        }
        await clock
          .sleep(backoffMs(failures, backoff, random.fraction('audit webhook backoff')), signal)
          .catch(() => undefined)
      }
    }
  }
}

const defaults = {
  mode: 'batch',
  bufferEventsMax: 10_000,
  batchEventsMax: 400,
  batchMsMax: 30_000,
  batches: { perSecond: 10, burst: 15 },
  initialBackoffMs: 10_000,
} as const

/** Bound on the queue in bytes, in addition to the number of events. */
const bufferBytesMax = 64 * 1024 * 1024

const fillCheckMs = 1_000
const attemptsMax = 5
const backoffShape = { maxMs: 60_000, factor: 1.5, jitter: 0.2 }
