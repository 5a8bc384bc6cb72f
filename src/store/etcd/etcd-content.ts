/** Reads all keys of an etcd at one revision, page by page, with the times at which they expire. */
import type { Platform } from '#/platform/platform.ts'
import type { StoreContent, StoredEntry } from '../content.ts'
import type { EtcdClient } from './client.ts'
import type { KeySpace } from './keys.ts'

export interface EtcdContentOptions {
  readonly client: EtcdClient
  readonly keys: KeySpace
  readonly platform: Platform
}

export class EtcdContent implements StoreContent {
  readonly storeId: string
  readonly revision: number
  readonly #options: EtcdContentOptions
  /** Wall time at which each lease ends. Many keys share a lease. */
  readonly #expiries = new Map<number | bigint, number>()

  private constructor(options: EtcdContentOptions, revision: number) {
    this.#options = options
    this.revision = revision
    // An etcd has no identity that survives its own restore.
    this.storeId = options.platform.random.uuid('store id')
  }

  static async open(options: EtcdContentOptions): Promise<EtcdContent> {
    return new EtcdContent(options, await options.client.revision())
  }

  async *entries(): AsyncGenerator<StoredEntry, void, undefined> {
    const { client, keys } = this.#options
    const { revision } = this
    const rangeEnd = keys.endOf(root)
    let key = keys.key(root)
    for (;;) {
      const { kvs, more } = await client.range({ key, rangeEnd, revision, limit: pageEntries })
      for (const kv of kvs) yield { ...keys.entry(kv), expiresMs: await this.#expiryOf(kv.lease) }
      const last = kvs.at(-1)
      if (!more || last === undefined) return
      key = Buffer.concat([last.key, Buffer.of(0)])
    }
  }

  /** The connection belongs to the store. */
  async [Symbol.asyncDispose](): Promise<void> {}

  async #expiryOf(lease: number | bigint): Promise<number> {
    if (BigInt(lease) === 0n) return 0
    const known = this.#expiries.get(lease)
    if (known !== undefined) return known
    const { client, platform } = this.#options
    const expiresMs = platform.clock.now() + (await client.leaseTtlSeconds(lease)) * 1_000
    this.#expiries.set(lease, expiresMs)
    return expiresMs
  }
}

/** All keys of a store begin with it. */
const root = '/'

const pageEntries = 500
