import { join } from 'node:path'
import type { ServerOptions } from '#/apiserver/server.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'
import type { TestTime } from '../time/test-time.ts'

/**
 * Machine resources of a test cluster (files, sockets), allocated on demand and released at the end. Rarely
 * needed modules are loaded lazily.
 */
export class Belongings {
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
      return Promise.reject(
        new TypeError(`a client outside the process cannot live in virtual time: ${wayOut}`),
      )
    }
    this.#kubeconfig ??= this.#openDoor(handle)
    return this.#kubeconfig
  }

  async stop(): Promise<void> {
    await this.#time.drive(this.started.disposeAsync())
  }

  async #openDoor(handle: ServerOptions['handle']): Promise<string> {
    const { platform } = this.#time
    const folder = await this.#makeFolder()
    const { HttpsDoor } = await import('./https-door.ts')
    const door = this.started.use(await HttpsDoor.open({ platform, handle, folder }))
    return door.kubeconfig
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
