/** The storage backend of a cluster, encrypted at rest. */
import { join } from 'node:path'
import { EncryptingStore, ResourceCiphers, ensureEncryptionConfiguration } from '#/apiserver/encryption.ts'
import type { Metrics } from '#/apiserver/metrics.ts'
import type { ApiServerSettings } from '#/apiserver/settings.ts'
import type { GrpcConnect, GrpcTls } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessMemory } from '#/platform/process-usage.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { StorePlace } from '#/store/snapshot.ts'
import type { Store } from '#/store/store.ts'

export type StoreSettings =
  | EmbeddedStoreSettings
  | MemoryStoreSettings
  | { readonly type: 'etcd'; readonly endpoints: readonly string[]; readonly tls?: GrpcTls }

export interface MemoryStoreSettings {
  readonly type: 'memory'
  /** Maximum size of all objects and their history, 0 for none. */
  readonly quotaBytes?: number
}

export interface EmbeddedStoreSettings extends Omit<MemoryStoreSettings, 'type'> {
  readonly type: 'embedded'
  /** Scheduled snapshots; none when absent. */
  readonly snapshots?: SnapshotSettings
}

export interface SnapshotSettings {
  readonly intervalMs: number
  /** Number of snapshots that are kept. */
  readonly retention: number
}

export interface OpenStoreOptions {
  readonly platform: Platform
  /** Folder of the cluster. */
  readonly folder: string
  readonly store: StoreSettings
  /** The memory of the process; unlimited when absent. */
  readonly memory?: Pick<ProcessMemory, 'residentBytesMax'> | undefined
  readonly loadGrpc: () => Promise<GrpcConnect>
  readonly metrics: Metrics['store']
  /** Called with the duration of each sync of the embedded store that took long. */
  readonly onSlowSync: (tookMs: number) => void
}

export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const opened = await openBackend(options)
  options.metrics.readAlarms(opened.alarms)
  return opened
}

async function openBackend(options: OpenStoreOptions): Promise<Store> {
  const { platform, folder, store, loadGrpc, metrics, onSlowSync } = options
  switch (store.type) {
    case 'embedded': {
      const { EmbeddedStore } = await import('#/store/embedded.ts')
      const embedded = await EmbeddedStore.open({
        platform,
        ...embeddedStorePlace(folder),
        quotaBytes: store.quotaBytes ?? defaultQuotaBytes(options.memory?.residentBytesMax),
        onSync: metrics.observeSync,
        onSlowSync,
      })
      metrics.readSpace(embedded.space)
      return embedded
    }
    case 'memory': {
      const quotaBytes = store.quotaBytes ?? defaultQuotaBytes(options.memory?.residentBytesMax)
      const memory = await MemoryStore.open({ platform, quotaBytes })
      metrics.readSpace(memory.space)
      return memory
    }
    case 'etcd': {
      const { EtcdStore } = await import('#/store/etcd.ts')
      const { endpoints, tls } = store
      return EtcdStore.open({ platform, connect: await loadGrpc(), endpoints, ...(tls && { tls }) })
    }
  }
}

/**
 * The default of etcd, on small machines less: all objects are also in the memory of this process, which needs memory
 * for their decoded form, for requests and for garbage, too.
 */
export function defaultQuotaBytes(memoryBytesMax = Infinity): number {
  return Math.min(2 * 1024 ** 3, Math.floor(memoryBytesMax / 4))
}

/** The files of the embedded store of a cluster. */
export function embeddedStorePlace(folder: string): StorePlace {
  return { folder: join(folder, 'store'), markCopy: join(folder, 'pki', 'store.mark') }
}

/** The folder of the scheduled snapshots of a cluster. */
export function snapshotsFolder(folder: string): string {
  return join(folder, 'snapshots')
}

export function describeStore(choice: StoreSettings): string {
  return choice.type === 'etcd' ? `etcd at ${choice.endpoints.join(', ')}` : choice.type
}

export interface EncryptedStore {
  readonly store: EncryptingStore
  readonly encryption: ResourceCiphers
}

export interface EncryptStoreOptions extends Omit<
  OpenStoreOptions,
  'store' | 'memory' | 'metrics' | 'onSlowSync'
> {
  /** Undefined unless the administrator configures encryption. */
  readonly settings: ApiServerSettings['encryption']
  readonly signal: AbortSignal
  readonly metrics: Metrics['storage']
}

/**
 * Encrypts Secrets at rest, with a key generated with the cluster unless the administrator configures
 * others. API servers that share an etcd must have the same keys.
 */
export async function encryptStore(store: Store, options: EncryptStoreOptions): Promise<EncryptedStore> {
  const { platform, folder, loadGrpc, settings, signal, metrics } = options
  const configuration =
    settings?.configuration ??
    (await ensureEncryptionConfiguration(platform, join(folder, 'pki', 'encryption.yaml')))
  const encryption = await ResourceCiphers.open({
    platform,
    // The gRPC library is large; it is loaded only when a KMS plugin may be configured.
    connect: settings ? await loadGrpc() : noKeyService,
    configuration,
    signal,
    metrics,
  })
  return { store: new EncryptingStore({ store, encryption, log: platform.log }), encryption }
}

function noKeyService(): never {
  throw new Error('no KMS plugin is configured')
}
