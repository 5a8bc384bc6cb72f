/**
 * The store in an external etcd, 3.4 or newer, with one or more members, over gRPC. Keys and values are
 * stored unchanged, so that `etcdctl get /registry --prefix` shows them; several API servers may share it.
 * The etcd should be dedicated to the cluster, since all its changes are watched. Scheduled compaction,
 * backup and membership are left to etcd.
 */
import type { GrpcConnect, GrpcTls } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import type { StoreContent } from './content.ts'
import { EtcdClient } from './etcd/client.ts'
import { readCompactedRevision } from './etcd/compaction.ts'
import { EtcdContent } from './etcd/etcd-content.ts'
import { KeySpace } from './etcd/keys.ts'
import { WatchHub } from './etcd/watch-hub.ts'
import { Writer } from './etcd/writer.ts'
import {
  StoreError,
  type DeleteOptions,
  type Entry,
  type ListOptions,
  type Listing,
  type ReadOptions,
  type Store,
  type StoreAlarms,
  type UpdateOptions,
  type Watch,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from './store.ts'

export interface EtcdStoreOptions {
  readonly platform: Platform
  readonly connect: GrpcConnect
  /** `host:port` of each member, with or without an `http://` or `https://` scheme. */
  readonly endpoints: readonly string[]
  /** Enables TLS for endpoints without a scheme, and its settings. */
  readonly tls?: GrpcTls
  /** Prefix of every key, for several stores in one etcd. They share revisions and compaction. */
  readonly prefix?: string
  /** Timeout for one member before another is tried. */
  readonly attemptTimeoutMs?: number
  /** Total time for retries before a request rejects with `unavailable`. */
  readonly requestTimeoutMs?: number
  /** Maximum size of the recent changes kept in memory for watches. */
  readonly recentBytesMax?: number
}

export class EtcdStore implements Store {
  readonly #platform: Platform
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #writer: Writer
  readonly #hub: WatchHub

  private constructor(client: EtcdClient, options: EtcdStoreOptions) {
    this.#platform = options.platform
    this.#client = client
    this.#keys = new KeySpace(options.prefix ?? '')
    this.#writer = new Writer({ client, keys: this.#keys, get: (key, options) => this.get(key, options) })
    const bytesMax = options.recentBytesMax ?? recentBytesMax
    this.#hub = new WatchHub({ client, keys: this.#keys, recentBytesMax: bytesMax })
  }

  get alarms(): StoreAlarms {
    return this.#client.alarms
  }

  /** Does not wait for a connection, so that etcd may start later. */
  static open(options: EtcdStoreOptions): EtcdStore {
    const { endpoints, tls } = options
    const isSecure = tls !== undefined || endpoints.some(endpoint => endpoint.startsWith('https://'))
    const channel = options.connect({
      targets: endpoints.map(endpoint => endpoint.replace(/^https?:\/\//, '').replace(/\/$/, '')),
      tls: isSecure ? (tls ?? {}) : undefined,
      keepalive,
    })
    const client = new EtcdClient({
      platform: options.platform,
      channel,
      attemptTimeoutMs: options.attemptTimeoutMs ?? attemptTimeoutMs,
      requestTimeoutMs: options.requestTimeoutMs ?? requestTimeoutMs,
    })
    client.readAlarms().catch((error: unknown) => client.log.debug('Cannot list alarms of etcd', { error }))
    return new EtcdStore(client, options)
  }

  revision(): Promise<number> {
    return this.#client.revision()
  }

  async get(key: string, options: ReadOptions = {}): Promise<Entry | undefined> {
    const revision = readableRevision(options)
    const { kvs } = await this.#client.range({ key: this.#keys.key(key), revision })
    return kvs[0] && this.#keys.entry(kvs[0])
  }

  async list(options: ListOptions): Promise<Listing> {
    for (let attempts = 0; ; attempts++) {
      try {
        return await this.#listPages(options)
      } catch (error) {
        // Compaction may overtake a paged read; a list of the newest state is then restarted.
        const isOvertaken = error instanceof StoreError && error.reason === 'compacted'
        if (!isOvertaken || options.revision !== undefined || attempts >= listAttemptsMax) throw error
      }
    }
  }

  create(key: string, value: Uint8Array, options: WriteOptions = {}): Promise<WriteResult> {
    const { ttlMs, note } = options
    return this.#writer.write({ key, value, expectedRevision: 0, ttlMs, note })
  }

  async update(key: string, value: Uint8Array, options: UpdateOptions): Promise<WriteResult> {
    const { expectedRevision, ttlMs, note } = options
    // etcd treats revision 0 as a key that does not exist.
    if (expectedRevision <= 0) return { written: false, current: await this.get(key) }
    return this.#writer.write({ key, value, expectedRevision, ttlMs, note })
  }

  async delete(key: string, { expectedRevision, note }: DeleteOptions): Promise<WriteResult> {
    if (expectedRevision <= 0) return { written: false, current: await this.get(key) }
    return this.#writer.write({ key, value: undefined, expectedRevision, note })
  }

  watch(options: WatchOptions): Watch {
    return this.#hub.watch(options)
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#client.compact(revision)
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'compacted') throw error
    }
    this.#client.noteCompacted(revision)
  }

  compactedRevision(): Promise<number> {
    return readCompactedRevision(this.#client)
  }

  /** All keys at the newest revision. */
  readContent(): Promise<StoreContent> {
    return EtcdContent.open({ client: this.#client, keys: this.#keys, platform: this.#platform })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close()
    await this.#hub.close()
  }

  async #listPages(options: ListOptions): Promise<Listing> {
    const { prefix, after, limit = Infinity } = options
    const rangeEnd = this.#keys.endOf(prefix)
    const entries: Entry[] = []
    let revision = readableRevision(options)
    let key = this.#keys.key(after === undefined ? prefix : `${after}\0`)
    for (;;) {
      const pageLimit = Math.min(limit - entries.length, pageEntriesMax)
      const response = await this.#client.range({ key, rangeEnd, revision, limit: pageLimit })
      revision ??= response.header.revision
      for (const kv of response.kvs) entries.push(this.#keys.entry(kv))
      const last = entries.at(-1)
      if (!response.more || last === undefined || entries.length >= limit) {
        const remaining = response.count - response.kvs.length
        return { entries, remaining, revision: options.revision ?? revision }
      }
      key = this.#keys.key(`${last.key}\0`)
    }
  }
}

const attemptTimeoutMs = 3_000
const requestTimeoutMs = 10_000

/**
 * A member without a response for the sum of these is disconnected. etcd closes connections with more than
 * one ping in five seconds.
 */
const keepalive = { intervalMs: 10_000, timeoutMs: 5_000 }

const recentBytesMax = 16 * 1024 * 1024

/** Page size of reads from etcd: long lists are read in parts, so that other requests are not blocked. */
const pageEntriesMax = 1_000

const listAttemptsMax = 3

/**
 * Revision 0 means the newest in etcd, but the empty store here; revision 1 is empty too, since no write has
 * it.
 */
function readableRevision({ revision }: ReadOptions): number | undefined {
  return revision === undefined ? undefined : Math.max(revision, 1)
}
