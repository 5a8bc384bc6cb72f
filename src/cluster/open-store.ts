/** The storage backend of a cluster. */
import { join } from 'node:path'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { EtcdStore } from '#/store/etcd.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'

export type StoreSettings =
  | { readonly type: 'embedded' }
  | { readonly type: 'memory' }
  | { readonly type: 'etcd'; readonly endpoints: readonly string[] }

export interface OpenStoreOptions {
  readonly platform: Platform
  /** Folder of the cluster. */
  readonly folder: string
  readonly store: StoreSettings
  readonly loadGrpc: () => Promise<GrpcConnect>
}

export async function openStore({ platform, folder, store, loadGrpc }: OpenStoreOptions): Promise<Store> {
  switch (store.type) {
    case 'embedded':
      return EmbeddedStore.open({ platform, folder: join(folder, 'store') })
    case 'memory':
      return MemoryStore.open({ platform })
    case 'etcd':
      return EtcdStore.open({ platform, connect: await loadGrpc(), endpoints: store.endpoints })
  }
}

export function describeStore(choice: StoreSettings): string {
  return choice.type === 'etcd' ? `etcd at ${choice.endpoints.join(', ')}` : choice.type
}
