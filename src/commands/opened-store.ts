/** Shared by the commands that read or write a store without running a cluster. */
import { requireReadableFormat } from '#/cluster/data-folder-format.ts'
import { lockFolder, readLockHolder } from '#/cluster/lock-folder.ts'
import { UsageError } from '#/base/flags.ts'
import type { StoreSettings } from '#/cluster/open-store.ts'
import { loadGrpc, processId, type Platform } from '#/platform/node.ts'
import type { GrpcTls } from '#/platform/grpc.ts'
import type { EtcdStore } from '#/store/etcd.ts'
import { clusterFlags } from './run-cluster.ts'
import manifest from '../../package.json' with { type: 'json' }

export const storeFlag = {
  ...clusterFlags.store,
  help: 'the store of the cluster: embedded (default), or etcd://HOST:PORT,HOST:PORT',
}

export interface EtcdConnection {
  readonly endpoints: readonly string[]
  readonly tls?: GrpcTls
}

export async function openEtcdStore(platform: Platform, connection: EtcdConnection): Promise<EtcdStore> {
  const { EtcdStore } = await import('#/store/etcd.ts')
  return EtcdStore.open({ platform, connect: await loadGrpc(), ...connection })
}

/** Undefined for the embedded store. */
export function etcdConnection(store: StoreSettings | undefined): EtcdConnection | undefined {
  if (store?.type === 'memory')
    throw new UsageError('a memory store has no files: use embedded or etcd://...')
  return store?.type === 'etcd' ? { endpoints: store.endpoints } : undefined
}

/** Prevents the start of the cluster during a command; rejects when it is running. */
export async function lockCluster(
  platform: Platform,
  folder: string,
  command: string,
): Promise<AsyncDisposable> {
  const startedMs = platform.clock.now()
  await requireReadableFormat({ platform, folder, version: manifest.version })
  await platform.files.makeFolder(folder, { mode: 0o700 })
  return lockFolder(platform, folder, () => ({ pid: processId(), command, isReady: false, startedMs }))
}

/** As `lockCluster`, for a command that only reads: it needs no lock while the cluster is running. */
export async function lockStoppedCluster(
  platform: Platform,
  folder: string,
  command: string,
): Promise<AsyncDisposable> {
  const exists = (await platform.files.stat(folder)) !== undefined
  const isLocked = exists && (await readLockHolder(platform, folder)) !== undefined
  return exists && !isLocked ? lockCluster(platform, folder, command) : new AsyncDisposableStack()
}

export function formatBytes(bytes: number): string {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`
}
