/**
 * The members of an etcd cluster: their list, their state, and changes of them, over etcd's services Cluster and
 * Maintenance. Requests are tried on all endpoints until one answers, and again with pauses. A change whose response
 * was lost is repeated, so its error may say that it has already happened: `member-exists`, `not-learner`,
 * `member-not-found`. All methods reject with EtcdMembersError, or with the reason of the signal.
 */
import { assert } from '#/base/assert.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { GrpcError, type GrpcCallOptions, type GrpcChannel } from '#/platform/grpc.ts'
import type { GrpcConnect, GrpcTls } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  HashKvRequest,
  HashKvResponse,
  MemberAddRequest,
  MemberAddResponse,
  MemberIdRequest,
  MemberListRequest,
  MemberListResponse,
  MoveLeaderRequest,
  StatusRequest,
  StatusResponse,
  type Member,
} from './etcd/cluster-messages.ts'
import { firstKey } from './etcd/keys.ts'
import { combineFailures, EtcdMembersError, etcdMembersErrorOf, isRepeatable } from './etcd-members-error.ts'
import { RangeRequest } from './etcd-messages.ts'

export interface EtcdMembersOptions {
  readonly platform: Pick<Platform, 'clock' | 'random'>
  readonly connect: GrpcConnect
  /** URLs, `https://10.0.0.1:2379`. */
  readonly endpoints: readonly string[]
  readonly tls: GrpcTls
  /** Timeout for one endpoint before another is tried. */
  readonly attemptTimeoutMs?: number
  /** Total time for retries of a request. */
  readonly requestTimeoutMs?: number
}

export interface EtcdMember {
  /** Hexadecimal, as etcdctl shows it. */
  readonly id: string
  /** Empty until the member has started for the first time. */
  readonly name: string
  readonly peerUrls: readonly string[]
  /** Empty until the member has started for the first time. */
  readonly clientUrls: readonly string[]
  readonly isLearner: boolean
}

export interface EtcdStatus {
  readonly memberId: string
  readonly version: string
  /** Undefined without a leader. */
  readonly leaderId: string | undefined
  readonly isLearner: boolean
  readonly sizeBytes: number
  readonly raftAppliedIndex: number
  /** Such as `etcdserver: no leader`, and alarms. */
  readonly errors: readonly string[]
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** In place of those of the constructor. */
  readonly endpoints?: readonly string[] | undefined
}

export class EtcdMembers implements AsyncDisposable {
  readonly endpoints: readonly string[]
  readonly #options: EtcdMembersOptions
  readonly #channels = new Map<string, GrpcChannel>()
  /** The endpoint that answered last is tried first. */
  #preferred: string | undefined

  constructor(options: EtcdMembersOptions) {
    this.#options = options
    this.endpoints = options.endpoints
  }

  /** Linearizable: the list contains all acknowledged changes, and proves a quorum. */
  async list(options: CallOptions = {}): Promise<EtcdMember[]> {
    const request = MemberListRequest.encode({ linearizable: true })
    const bytes = await this.#tryAll(options, async endpoint => {
      // etcd 3.4 lists the members that this member knows. After a linearizable read these are the newest.
      await this.#read(endpoint, options.signal)
      return this.#unary(endpoint, 'Cluster/MemberList', { request, signal: options.signal, ...consistent })
    })
    return MemberListResponse.decode(bytes).members.map(memberOf)
  }

  /** Adds a member without a vote. */
  async addLearner(peerUrls: readonly string[], options: CallOptions = {}): Promise<EtcdMember> {
    const request = MemberAddRequest.encode({ peerUrls: [...peerUrls], isLearner: true })
    const { member } = MemberAddResponse.decode(await this.#change('MemberAdd', request, options))
    if (member === undefined) throw new EtcdMembersError('refused', 'etcd added a member without an ID')
    return memberOf(member)
  }

  /** Gives a learner its vote. */
  async promote(id: string, options: CallOptions = {}): Promise<void> {
    await this.#change('MemberPromote', MemberIdRequest.encode({ id: numberOf(id) }), options)
  }

  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.#change('MemberRemove', MemberIdRequest.encode({ id: numberOf(id) }), options)
  }

  /** Only the leader can do this: `endpoint` must be its own. */
  async moveLeader(
    { endpoint, toId }: { readonly endpoint: string; readonly toId: string },
    signal?: AbortSignal,
  ): Promise<void> {
    const request = MoveLeaderRequest.encode({ targetId: numberOf(toId) })
    await this.#once(endpoint, () => {
      return this.#unary(endpoint, 'Maintenance/MoveLeader', { request, signal, ...consistent })
    })
  }

  /** Asks this member, once. Answered by learners and without a quorum, too. */
  async status(endpoint: string, signal?: AbortSignal): Promise<EtcdStatus> {
    const request = StatusRequest.encode({})
    const bytes = await this.#once(endpoint, () => {
      return this.#unary(endpoint, 'Maintenance/Status', { request, signal })
    })
    const { header, version, leader, isLearner, dbSizeBytes, raftAppliedIndex, errors } =
      StatusResponse.decode(bytes)
    return {
      memberId: idOf(header?.memberId ?? 0),
      version,
      leaderId: BigInt(leader) === 0n ? undefined : idOf(leader),
      isLearner,
      sizeBytes: dbSizeBytes,
      raftAppliedIndex,
      errors,
    }
  }

  /** The hash of all keys and their history up to a revision, to compare members. */
  async hashKv(
    { endpoint, revision }: { readonly endpoint: string; readonly revision: number },
    signal?: AbortSignal,
  ): Promise<{ readonly hash: number; readonly compactRevision: number }> {
    const request = HashKvRequest.encode({ revision })
    const bytes = await this.#once(endpoint, () => {
      return this.#unary(endpoint, 'Maintenance/HashKV', { request, signal, ...consistent })
    })
    const { hash, compactRevision } = HashKvResponse.decode(bytes)
    return { hash, compactRevision }
  }

  /** A linearizable read through this member, once: resolves if the member is part of a quorum. */
  async read(endpoint: string, signal?: AbortSignal): Promise<void> {
    await this.#once(endpoint, () => this.#read(endpoint, signal))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#channels.values()].map(channel => channel[Symbol.asyncDispose]()))
  }

  #change(method: string, request: Uint8Array, options: CallOptions): Promise<Uint8Array> {
    return this.#tryAll(options, endpoint => {
      return this.#unary(endpoint, `Cluster/${method}`, { request, signal: options.signal, ...consistent })
    })
  }

  async #read(endpoint: string, signal: AbortSignal | undefined): Promise<void> {
    const request = RangeRequest.encode({ key: firstKey, countOnly: true })
    await this.#unary(endpoint, 'KV/Range', { request, signal, ...consistent })
  }

  async #once<T>(endpoint: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw error instanceof GrpcError ? etcdMembersErrorOf(error, endpoint) : error
    }
  }

  async #tryAll<T>(
    { signal, endpoints = this.endpoints }: CallOptions,
    call: (endpoint: string) => Promise<T>,
  ): Promise<T> {
    assert(endpoints.length > 0, 'etcd has an endpoint')
    const { clock, random } = this.#options.platform
    const deadlineMs = clock.monotonicMs() + (this.#options.requestTimeoutMs ?? requestTimeoutMs)
    for (let rounds = 1; ; rounds++) {
      const failures: EtcdMembersError[] = []
      for (const endpoint of preferring(this.#preferred, endpoints)) {
        try {
          const result = await this.#once(endpoint, () => call(endpoint))
          this.#preferred = endpoint
          return result
        } catch (error) {
          if (!(error instanceof EtcdMembersError) || !isRepeatable(error)) throw error
          failures.push(error)
        }
      }
      const pauseMs = backoffMs(rounds, pauses, random.fraction('etcd members pause'))
      const failure = combineFailures(failures)
      if (failure.reason === 'untrusted' || clock.monotonicMs() + pauseMs >= deadlineMs) throw failure
      await clock.sleep(pauseMs, signal)
    }
  }

  #unary(
    endpoint: string,
    method: string,
    { request, signal, metadata }: Pick<GrpcCallOptions, 'metadata'> & AttemptOptions,
  ): Promise<Uint8Array> {
    const { attemptTimeoutMs: timeoutMs = attemptTimeoutMs } = this.#options
    return this.#channelOf(endpoint).unary(`/etcdserverpb.${method}`, request, {
      timeoutMs,
      ...(signal && { signal }),
      ...(metadata && { metadata }),
    })
  }

  #channelOf(endpoint: string): GrpcChannel {
    const known = this.#channels.get(endpoint)
    if (known !== undefined) return known
    const { connect, tls } = this.#options
    const channel = connect({ targets: [endpoint.replace(/^https?:\/\//, '').replace(/\/$/, '')], tls })
    this.#channels.set(endpoint, channel)
    return channel
  }
}

interface AttemptOptions {
  readonly request: Uint8Array
  readonly signal: AbortSignal | undefined
}

/** A change of the members waits for a quorum and a write to disk. */
const attemptTimeoutMs = 3_000
const requestTimeoutMs = 20_000

const pauses: Backoff = { initialMs: 100, maxMs: 2_000, factor: 2, jitter: 0.2 }

/** A member without a leader then rejects the request at once, instead of waiting for one. */
const consistent = { metadata: { hasleader: 'true' } }

function preferring(preferred: string | undefined, endpoints: readonly string[]): readonly string[] {
  if (preferred === undefined || !endpoints.includes(preferred)) return endpoints
  return [preferred, ...endpoints.filter(endpoint => endpoint !== preferred)]
}

function memberOf({ id, name, peerUrls, clientUrls, isLearner }: Member): EtcdMember {
  return { id: idOf(id), name, peerUrls, clientUrls, isLearner }
}

function idOf(number: number | bigint): string {
  return number.toString(16)
}

function numberOf(id: string): bigint {
  return BigInt(`0x${id}`)
}
