import { GrpcError } from '#/platform/grpc.ts'
import { assertNote, StoreError, type Entry, type ReadOptions, type WriteResult } from '../store.ts'
import { wasNotExecuted, isLeaseMissing, isTransient, storeErrorOf, type EtcdClient } from './client.ts'
import type { KeySpace } from './keys.ts'
import { Leases } from './leases.ts'
import { compareModRevision, TxnRequest } from '../etcd-messages.ts'

export interface Write {
  readonly key: string
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined
  /** 0 means that the key must not exist. */
  readonly expectedRevision: number
  readonly ttlMs?: number | undefined
  readonly note?: Uint8Array | undefined
}

export interface WriterOptions {
  readonly client: EtcdClient
  readonly keys: KeySpace
  readonly get: (key: string, options?: ReadOptions) => Promise<Entry | undefined>
}

/**
 * Executes conditional writes, and determines the outcome of a write if its response was lost. An update of a
 * given revision can succeed only once, so it is retried. A creation is not retried: delayed by a member that
 * hangs, it could be executed again after the key was deleted. Its outcome is determined by reading the key.
 */
export class Writer {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #get: WriterOptions['get']
  readonly #leases: Leases
  /** The user of the store may not write notes. */
  #areNotesDenied = false

  constructor(options: WriterOptions) {
    this.#client = options.client
    this.#keys = options.keys
    this.#get = options.get
    this.#leases = new Leases(options.client)
  }

  async write(write: Write): Promise<WriteResult> {
    if (write.note) assertNote(write.note)
    const { clock, closing, requestTimeoutMs } = this.#client
    let note = this.#areNotesDenied ? undefined : write.note
    const deadline = clock.monotonicMs() + requestTimeoutMs
    /** The error of an attempt that may have been executed without acknowledgment. */
    let doubt: GrpcError | undefined
    let denial: GrpcError | undefined
    for (let failures = 0; ; failures++) {
      try {
        const result = await this.#attempt({ ...write, note }, deadline - clock.monotonicMs())
        if (denial) this.#stopNotes(denial)
        return doubt && !result.written ? await this.#settle(write, result.current, doubt) : result
      } catch (error) {
        closing.throwIfAborted()
        if (note && isNoteRejected(write, error)) {
          note = undefined
          if (isDenied(error)) denial = error
          continue
        }
        if (isLeaseMissing(error) && write.ttlMs !== undefined) this.#leases.forget(write.ttlMs)
        // A rejection of this attempt says nothing about an earlier one.
        else if (!isTransient(error)) throw doubt ? unknownOutcome(write.key, doubt) : storeErrorOf(error)
        else if (!wasNotExecuted(error)) doubt = error
        if (doubt && write.expectedRevision === 0) return this.#findCreation(write, doubt)
        if (clock.monotonicMs() >= deadline) throw storeErrorOf(error)
      }
      await this.#client.backoff(failures)
    }
  }

  async #attempt(write: Write, timeoutMs: number): Promise<WriteResult> {
    const { value, ttlMs, note } = write
    const key = this.#keys.key(write.key)
    const lease = ttlMs === undefined ? 0 : await this.#leases.leaseFor(ttlMs)
    const request = TxnRequest.encode({
      compare: [{ target: compareModRevision, key, modRevision: write.expectedRevision }],
      success: [
        value ? { requestPut: { key, value, lease } } : { requestDeleteRange: { key } },
        ...(note ? [{ requestPut: { key: this.#keys.noteKey, value: note } }] : []),
      ],
      failure: [{ requestRange: { key } }],
    })
    const response = await this.#client.txn(request, timeoutMs)
    this.#client.alarms.clear('CORRUPT')
    if (value || note) this.#client.alarms.clear('NOSPACE')
    if (response.succeeded) return { written: true, revision: response.header.revision }
    const kv = response.responses[0]?.responseRange?.kvs[0]
    return { written: false, current: kv && this.#keys.entry(kv) }
  }

  #stopNotes(error: GrpcError): void {
    if (this.#areNotesDenied) return
    this.#areNotesDenied = true
    const key = Buffer.from(this.#keys.noteKey).toString()
    this.#client.log.warn('Writes have no notes, since etcd denies their key', { key, error })
  }

  /**
   * Determines if the write over the expected revision came from an earlier attempt. A write of the same
   * bytes by another client is indistinguishable, and equivalent.
   */
  async #settle(write: Write, current: Entry | undefined, doubt: GrpcError): Promise<WriteResult> {
    const { key, value, expectedRevision } = write
    if (current === undefined || current.createRevision > expectedRevision) throw unknownOutcome(key, doubt)
    // The key still exists, so it was not deleted; the revision to delete has been overwritten.
    if (value === undefined) return { written: false, current }
    let successor = current
    for (let steps = 0; steps < successorsMax; steps++) {
      const before = await this.#getAt(key, successor.revision - 1)
      if (before === undefined) break
      if (before.revision === expectedRevision) {
        const { revision } = successor
        return isEqual(successor.value, value) ? { written: true, revision } : { written: false, current }
      }
      successor = before
    }
    throw unknownOutcome(key, doubt)
  }

  async #findCreation({ key, value }: Write, doubt: GrpcError): Promise<WriteResult> {
    for (let looks = 0; looks < looksMax; looks++) {
      const current = await this.#get(key)
      if (current) {
        const { createRevision } = current
        const isFirst = current.revision === createRevision
        const first = isFirst ? current : await this.#getAt(key, createRevision)
        if (first && value && isEqual(first.value, value)) return { written: true, revision: createRevision }
        break
      }
      await this.#client.backoff(looks)
    }
    throw unknownOutcome(key, doubt)
  }

  /** Undefined also when the revision has been compacted. */
  async #getAt(key: string, revision: number): Promise<Entry | undefined> {
    try {
      return await this.#get(key, { revision })
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'compacted') return undefined
      throw error
    }
  }
}

/** Maximum number of later writes to search back through. */
const successorsMax = 8

/** Maximum number of reads for a creation that may still be executed. */
const looksMax = 5

function unknownOutcome(key: string, cause: GrpcError): StoreError {
  const message = `etcd did not say whether it wrote ${key}: ${cause.message}`
  return new StoreError('unavailable', message, { cause })
}

/** True if the write may succeed without its note: the user may not write it, or etcd has space for deletions only. */
function isNoteRejected({ value }: Write, error: unknown): boolean {
  return isDenied(error) || (value === undefined && storeErrorOf(error).reason === 'full')
}

function isDenied(error: unknown): error is GrpcError {
  return error instanceof GrpcError && error.code === 'permission-denied'
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}
