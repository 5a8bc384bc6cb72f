import { join } from 'node:path'
import type { ServerOptions } from '#/apiserver/server.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'
import type { TestTime } from '../time/test-time.ts'

/**
 * Machine resources of a test cluster (files, sockets), allocated on demand and released at the end. Rarely
 * needed modules are loaded lazily.
 */
export class ClusterResources {
  /** Stopped in reverse order. */
  readonly started = new AsyncDisposableStack()
  readonly #time: TestTime
  #folder: Promise<string> | undefined
  #kubeconfig: Promise<string> | undefined

  constructor(time: TestTime) {
    this.#time = time
  }

  async openStore(kind: 'memory' | 'embedded'): Promise<Store> {
    const { platform } = this.#time
    if (kind === 'memory') return this.started.use(await MemoryStore.open({ platform }))
    const folder = join(await this.#makeFolder(), 'store')
    const { EmbeddedStore } = await import('#/store/embedded.ts')
    return this.started.use(await EmbeddedStore.open({ platform, folder }))
  }

  kubeconfig(handle: ServerOptions['handle']): Promise<string> {
    if (!this.#time.isReal) {
      const wayOut = "start the cluster with clock: 'real'"
      return Promise.reject(new TypeError(`kubeconfig requires a real clock: ${wayOut}`))
    }
    this.#kubeconfig ??= this.#listen(handle)
    return this.#kubeconfig
  }

  async stop(): Promise<void> {
    await this.#time.runUntil(this.started.disposeAsync())
  }

  async #listen(handle: ServerOptions['handle']): Promise<string> {
    const { platform } = this.#time
    const folder = await this.#makeFolder()
    const { HttpsListener } = await import('./https-listener.ts')
    const listener = this.started.use(await HttpsListener.open({ platform, handle, folder }))
    return listener.kubeconfig
  }

  #makeFolder(): Promise<string> {
    this.#folder ??= this.#makeFolderOnce()
    return this.#folder
  }

  async #makeFolderOnce(): Promise<string> {
    const { makeTemporaryFolder } = await import('#/platform/node.ts')
    const folder = await makeTemporaryFolder()
    this.started.defer(() => this.#time.platform.files.remove(folder))
    return folder
  }
}
