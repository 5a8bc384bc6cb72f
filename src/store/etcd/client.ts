import type { Clock, Log, Platform } from '#/platform/platform.ts'
import { GrpcError, type GrpcChannel, type GrpcStream } from '#/platform/grpc.ts'
import { Alarms } from '../alarms.ts'
import { StoreError } from '../store.ts'
import { firstKey } from './keys.ts'
import {
  AlarmRequest,
  AlarmResponse,
  alarmCorrupt,
  alarmNoSpace,
  CompactionRequest,
  CompactionResponse,
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
  RangeRequest,
  RangeResponse,
  TxnResponse,
  WatchRequest,
} from '../etcd-messages.ts'

export interface ClientOptions {
  readonly platform: Platform
  readonly channel: GrpcChannel
  /** Timeout for one member before another is tried. */
  readonly attemptTimeoutMs: number
  /** Total time for retries of a request. */
  readonly requestTimeoutMs: number
}

/**
 * Requests to etcd. Reads and idempotent requests are retried on other members; a transaction is tried once,
 * and its error tells if it can have been executed.
 */
export class EtcdClient {
  readonly #clock: Clock
  readonly #random: Platform['random']
  readonly log: Log
  /** etcd's alarms as its responses show them: a NOSPACE alarm rejects writes, a CORRUPT alarm everything. */
  readonly alarms: Alarms
  readonly #channel: GrpcChannel
  readonly attemptTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly #closing = new AbortController()
  #runningRevision: Promise<number> | undefined
  #nextRevision: Promise<number> | undefined
  /** The newest revision seen in any response. */
  #knownRevision = 0
  /** The newest compacted revision seen. */
  #knownCompacted = 0

  constructor(options: ClientOptions) {
    this.#clock = options.platform.clock
    this.#random = options.platform.random
    this.log = options.platform.log
    this.alarms = new Alarms(options.platform)
    this.#channel = options.channel
    this.attemptTimeoutMs = options.attemptTimeoutMs
    this.requestTimeoutMs = options.requestTimeoutMs
  }

  get clock(): Clock {
    return this.#clock
  }

  /** Aborted when the store is closed, with the StoreError that all requests reject with. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  get knownRevision(): number {
    return this.#knownRevision
  }

  get knownCompacted(): number {
    return this.#knownCompacted
  }

  noteRevision(revision: number): void {
    if (revision > this.#knownRevision) this.#knownRevision = revision
  }

  noteCompacted(revision: number): void {
    if (revision > this.#knownCompacted) this.#knownCompacted = revision
  }

  /** Linearizable: sees every write acknowledged before. */
  async range(request: Parameters<typeof RangeRequest.encode>[0]): Promise<Answer<typeof RangeResponse>> {
    const bytes = await this.#repeat('/etcdserverpb.KV/Range', RangeRequest.encode(request))
    return this.#noted(RangeResponse.decode(bytes))
  }

  /** Calls during a running read share the next one, which starts after all of them. */
  revision(): Promise<number> {
    if (this.#nextRevision) return this.#nextRevision
    if (this.#runningRevision === undefined) return this.#readRevision()
    const start = (): Promise<number> => {
      this.#nextRevision = undefined
      return this.#readRevision()
    }
    this.#nextRevision = this.#runningRevision.then(start, start)
    return this.#nextRevision
  }

  /** Throws GrpcError. */
  async txn(request: Uint8Array, timeoutMs: number): Promise<Answer<typeof TxnResponse>> {
    return this.#noted(TxnResponse.decode(await this.#attempt('/etcdserverpb.KV/Txn', request, timeoutMs)))
  }

  async compact(revision: number): Promise<void> {
    const bytes = await this.#repeat('/etcdserverpb.KV/Compact', CompactionRequest.encode({ revision }))
    this.#noted(CompactionResponse.decode(bytes))
  }

  async grantLease(ttlSeconds: number): Promise<number | bigint> {
    const request = LeaseGrantRequest.encode({ ttl: ttlSeconds })
    const bytes = await this.#repeat('/etcdserverpb.Lease/LeaseGrant', request)
    return this.#noted(LeaseGrantResponse.decode(bytes)).id
  }

  /** Finds the alarms that were raised before this store was opened. */
  async readAlarms(): Promise<void> {
    const bytes = await this.#repeat('/etcdserverpb.Maintenance/Alarm', AlarmRequest.encode({ action: 0 }))
    for (const { alarm } of AlarmResponse.decode(bytes).alarms) {
      if (alarm === alarmNoSpace) this.alarms.raise('NOSPACE', spaceExceeded)
      if (alarm === alarmCorrupt) this.alarms.raise('CORRUPT', corruptCluster)
    }
  }

  /** The remaining time of a lease; not positive when it has expired. */
  async leaseTtlSeconds(id: number | bigint): Promise<number> {
    const request = LeaseTimeToLiveRequest.encode({ id })
    const bytes = await this.#repeat('/etcdserverpb.Lease/LeaseTimeToLive', request)
    return this.#noted(LeaseTimeToLiveResponse.decode(bytes)).ttl
  }

  /** Opens one watch on its own stream. Iterating it throws GrpcError, or the reason of the signal. */
  watch(request: WatchCreation, signal: AbortSignal): GrpcStream {
    const stream = this.#channel.stream('/etcdserverpb.Watch/Watch', { signal, metadata: requireLeader })
    void stream.send(WatchRequest.encode({ createRequest: { ...request, fragment: true } }))
    return stream
  }

  /** Waits with exponential backoff, so that a cluster that is electing a leader is not overloaded. */
  async backoff(failures: number, signal = this.closing): Promise<void> {
    const longest = Math.min(pauseMs.first * 2 ** failures, pauseMs.most)
    await this.#clock.sleep((longest * (1 + this.#random.fraction('etcd pause'))) / 2, signal)
  }

  async close(): Promise<void> {
    this.#closing.abort(new StoreError('closed', 'the store was closed'))
    await this.#channel[Symbol.asyncDispose]()
  }

  #readRevision(): Promise<number> {
    const reading = this.range({ key: firstKey, countOnly: true }).then(({ header }) => header.revision)
    this.#runningRevision = reading.finally(() => {
      this.#runningRevision = undefined
    })
    return this.#runningRevision
  }

  async #repeat(method: string, request: Uint8Array): Promise<Uint8Array> {
    const deadline = this.#clock.monotonicMs() + this.requestTimeoutMs
    for (let failures = 0; ; failures++) {
      const remainingMs = deadline - this.#clock.monotonicMs()
      try {
        return await this.#attempt(method, request, remainingMs)
      } catch (error) {
        const isLate = this.#clock.monotonicMs() + pauseMs.most >= deadline
        if (isLate || !isTransient(error)) throw storeErrorOf(error)
        await this.backoff(failures)
      }
    }
  }

  async #attempt(method: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    this.closing.throwIfAborted()
    try {
      const attemptMs = Math.min(timeoutMs, this.attemptTimeoutMs)
      return await this.#channel.unary(method, request, { timeoutMs: attemptMs, metadata: requireLeader })
    } catch (error) {
      this.closing.throwIfAborted()
      const { reason } = storeErrorOf(error)
      if (reason === 'full') this.alarms.raise('NOSPACE', spaceExceeded)
      if (reason === 'damaged') this.alarms.raise('CORRUPT', corruptCluster)
      throw error
    }
  }

  #noted<T extends { readonly header: WithHeader['header'] | undefined }>(response: T): T & WithHeader {
    const header = response.header ?? { revision: 0 }
    this.noteRevision(header.revision)
    return { ...response, header }
  }
}

interface WithHeader {
  readonly header: { readonly revision: number }
}

type Answer<M extends { decode(bytes: Uint8Array): unknown }> = ReturnType<M['decode']> & WithHeader

export interface WatchCreation {
  readonly key: Uint8Array
  readonly rangeEnd?: Uint8Array
  readonly startRevision: number
}

/** A member without a leader then rejects requests and ends streams at once, instead of blocking. */
const requireLeader = { hasleader: 'true' }

const pauseMs = { first: 20, most: 500 }

/** True if the same request may succeed later or on another member. */
export function isTransient(error: unknown): error is GrpcError {
  if (!(error instanceof GrpcError) || refusals.has(error.code)) return false
  return storeErrorOf(error).reason === 'unavailable'
}

const refusals = new Set<GrpcError['code']>([
  'invalid-argument',
  'not-found',
  'already-exists',
  'permission-denied',
  'failed-precondition',
  'out-of-range',
  'unimplemented',
  'unauthenticated',
])

/** True if a failed transaction was certainly not executed and never will be. */
export function wasNotExecuted(error: GrpcError): boolean {
  const isRefused = /no leader|too many requests|proposal dropped/.test(error.details)
  return isRefused || !error.sent || refusals.has(error.code)
}

export function isLeaseMissing(error: unknown): boolean {
  return error instanceof GrpcError && error.code === 'not-found' && error.details.includes('lease')
}

/** etcd's texts. */
const spaceExceeded = 'mvcc: database space exceeded'
const corruptCluster = 'corrupt cluster'

/** Some etcd errors differ only in their text. */
export function storeErrorOf(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const { code, details } = cause instanceof GrpcError ? cause : { code: 'unknown', details: String(cause) }
  const reason =
    code === 'out-of-range' && details.includes('compacted')
      ? 'compacted'
      : code === 'out-of-range' && details.includes('future revision')
        ? 'future-revision'
        : code === 'invalid-argument' && details.includes('too large')
          ? 'too-large'
          : code === 'resource-exhausted' && details.includes('larger than max')
            ? 'too-large'
            : code === 'resource-exhausted' && details.includes(spaceExceeded)
              ? 'full'
              : code === 'data-loss'
                ? 'damaged'
                : 'unavailable'
  return new StoreError(reason, `etcd failed: ${code}: ${details}`, { cause })
}
