/**
 * The state that the members of an etcd cluster replicate: keys, leases, alarms and the compacted revision.
 * Each method executes one request of the replicated log; requests are executed one after the other, so that
 * every execution is linearizable by construction.
 */
import {
  alarmCorrupt,
  alarmNoSpace,
  compareModRevision,
  type CompactionRequest,
  type LeaseGrantRequest,
  type LeaseTimeToLiveRequest,
  type RangeRequest,
  type TxnRequest,
} from '#/store/etcd-messages.ts'
import { assert } from '#/base/assert.ts'
import type { MessageOf } from '#/base/protobuf.ts'
import { etcdError } from './etcd-errors.ts'
import { KeyHistory, keyText, rangeEnd, type Change, type Version, type View } from './key-history.ts'

type Range = MessageOf<typeof RangeRequest>
type Txn = MessageOf<typeof TxnRequest>

export interface RangeResult {
  readonly header: { readonly revision: number }
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
  readonly count: number
}

interface KeyValue {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly createRevision: number
  readonly modRevision: number
  readonly lease: bigint
}

interface Lease {
  readonly ttlMs: number
  expiresMs: number
  readonly keys: Set<string>
}

export type EtcdAlarm = typeof alarmNoSpace | typeof alarmCorrupt

export class ReplicatedState {
  readonly history = new KeyHistory()
  readonly alarms = new Set<EtcdAlarm>()
  readonly #leases = new Map<bigint, Lease>()
  #compactRevision = 0
  #leasesGranted = 0n

  get view(): View {
    return { revision: this.history.revision, compactRevision: this.#compactRevision }
  }

  /** Reads what a member with this view has applied. */
  range(request: Range, view: View): RangeResult {
    this.#rejectCorrupt()
    const revision = request.revision <= 0 ? view.revision : request.revision
    if (revision > view.revision) throw etcdError('future revision')
    if (revision < view.compactRevision) throw etcdError('compacted')
    const key = keyText(request.key)
    const found = [...this.history.range(key, rangeEnd(key, request.rangeEnd), revision)]
    const limit = request.limit > 0 ? request.limit : Infinity
    return {
      header: { revision: view.revision },
      kvs: request.countOnly ? [] : found.slice(0, limit).map(keyValue),
      more: !request.countOnly && found.length > limit,
      count: found.length,
    }
  }

  txn(request: Txn): {
    readonly succeeded: boolean
    readonly responses: readonly object[]
    readonly header: object
  } {
    this.#rejectCorrupt()
    if (
      this.alarms.has(alarmNoSpace) &&
      [...request.success, ...request.failure].some(({ requestPut }) => requestPut)
    )
      throw etcdError('no space')
    const succeeded = request.compare.every(({ target, key, modRevision }) => {
      assert(target === compareModRevision, `compare target ${target} is not simulated`)
      return (this.#current(keyText(key))?.modRevision ?? 0) === (modRevision ?? 0)
    })
    const changes: Change[] = []
    const responses = (succeeded ? request.success : request.failure).map(operation => {
      const { requestRange, requestPut, requestDeleteRange } = operation
      if (requestRange) return { responseRange: this.range(requestRange, this.view) }
      if (requestPut) changes.push(this.#put(requestPut))
      if (requestDeleteRange && this.#current(keyText(requestDeleteRange.key)))
        changes.push({ key: keyText(requestDeleteRange.key), value: undefined, lease: 0n })
      return {}
    })
    this.#commit(changes)
    return { header: { revision: this.history.revision }, succeeded, responses }
  }

  compact({ revision }: MessageOf<typeof CompactionRequest>): { readonly header: object } {
    this.#rejectCorrupt()
    if (revision <= this.#compactRevision) throw etcdError('compacted')
    if (revision > this.history.revision) throw etcdError('future revision')
    this.#compactRevision = revision
    return { header: { revision: this.history.revision } }
  }

  grantLease({ ttl }: MessageOf<typeof LeaseGrantRequest>, nowMs: number): bigint {
    this.#rejectCorrupt()
    if (this.alarms.has(alarmNoSpace)) throw etcdError('no space')
    const ttlMs = Math.max(ttl, leaseSecondsMin) * 1_000
    const id = firstLeaseId + this.#leasesGranted++
    this.#leases.set(id, { ttlMs, expiresMs: nowMs + ttlMs, keys: new Set() })
    return id
  }

  leaseTimeToLive({ id }: MessageOf<typeof LeaseTimeToLiveRequest>, nowMs: number): number {
    const lease = this.#leases.get(BigInt(id))
    return lease === undefined ? -1 : Math.max(0, Math.floor((lease.expiresMs - nowMs) / 1_000))
  }

  /** Time at which the next lease expires. */
  get nextExpiryMs(): number | undefined {
    const times = [...this.#leases.values()].map(({ expiresMs }) => expiresMs)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Revokes expired leases; the keys of one lease are deleted in one revision. */
  expireLeases(nowMs: number): void {
    for (const [id, { expiresMs, keys }] of this.#leases) {
      if (expiresMs > nowMs) continue
      this.#leases.delete(id)
      this.#commit([...keys].sort().map(key => ({ key, value: undefined, lease: 0n })))
    }
  }

  /** A new leader does not know how much of each TTL has passed, so all leases start again. */
  renewLeases(nowMs: number): void {
    for (const lease of this.#leases.values()) lease.expiresMs = nowMs + lease.ttlMs
  }

  #put({ key, value, lease }: NonNullable<Txn['success'][number]['requestPut']>): Change {
    const id = BigInt(lease)
    if (id !== 0n && !this.#leases.has(id)) throw etcdError('lease not found')
    return { key: keyText(key), value, lease: id }
  }

  #commit(changes: readonly Change[]): void {
    if (changes.length === 0) return
    for (const { key, lease } of changes) {
      this.#leases.get(this.#current(key)?.lease ?? 0n)?.keys.delete(key)
      this.#leases.get(lease)?.keys.add(key)
    }
    this.history.commit(changes)
  }

  #current(key: string): Version | undefined {
    return this.history.at(key, this.history.revision)
  }

  #rejectCorrupt(): void {
    if (this.alarms.has(alarmCorrupt)) throw etcdError('corrupt')
  }
}

/** etcd grants no shorter lease than one and a half election timeouts. */
const leaseSecondsMin = 2

/** Lease ids are random 63-bit numbers; these do not fit a double either. */
const firstLeaseId = 0x694d_0000_0000_0001n

/** A version as etcd sends it; a deletion has neither value nor create revision. */
export function keyValue({ key, value, createRevision, modRevision, lease }: Version): KeyValue {
  return { key: Buffer.from(key, 'latin1'), value: value ?? empty, createRevision, modRevision, lease }
}

const empty = new Uint8Array()
