/** Objects of one resource used by pods: one watch per object, stopped with its last user. */
import { formatKey, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'

export interface WatchedObjectsOptions<T extends KubernetesObject> {
  readonly platform: Platform
  readonly client: Client
  readonly resource: Resource<T>
  readonly onChange: (podUids: readonly string[]) => void
}

type Watchable = KubernetesObject & { readonly immutable?: boolean }

interface Watched<T extends Watchable> {
  readonly key: string
  readonly informer: Informer<T>
  readonly users: Set<string>
  readonly stopping: AbortController
  /** resourceVersion returned before the watch started; receiving it in the watch is not a change. */
  readVersion: string | undefined
}

export class WatchedObjects<T extends Watchable> {
  readonly #options: WatchedObjectsOptions<T>
  readonly #watched = new Map<string, Watched<T>>()
  readonly #keysOfPods = new Map<string, ReadonlySet<string>>()
  readonly #runs = new Set<Promise<void>>()
  #signal: AbortSignal | undefined

  constructor(options: WatchedObjectsOptions<T>) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    for (const watched of this.#watched.values()) this.#start(watched, signal)
    if (!signal.aborted) {
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    }
    await Promise.all(this.#runs)
  }

  registerPod(uid: string, namespace: string, names: ReadonlySet<string>): void {
    const before = this.#keysOfPods.get(uid) ?? none
    const after = new Set([...names].map(name => formatKey({ namespace, name })))
    for (const name of names) this.#use(uid, namespace, name)
    for (const key of before) if (!after.has(key)) this.#leave(uid, key)
    if (after.size > 0) this.#keysOfPods.set(uid, after)
    else this.#keysOfPods.delete(uid)
  }

  unregisterPod(uid: string): void {
    for (const key of this.#keysOfPods.get(uid) ?? none) this.#leave(uid, key)
    this.#keysOfPods.delete(uid)
  }

  /**
   * Returns the watched object. If it is missing, reads it from the API server: the watch may not have
   * started, may be forbidden, or may lag behind the creation of the object and the pod.
   */
  async get(namespace: string, name: string, signal?: AbortSignal): Promise<Stored<T> | undefined> {
    const { client, resource } = this.#options
    const key = formatKey({ namespace, name })
    const cached = this.#watched.get(key)?.informer.get(key)
    if (cached) return cached
    const found = await client.find(resource, { namespace, name }, { signal })
    const watched = this.#watched.get(key)
    if (watched) watched.readVersion = found?.metadata.resourceVersion
    return found
  }

  #use(uid: string, namespace: string, name: string): void {
    const key = formatKey({ namespace, name })
    const known = this.#watched.get(key)
    if (known) {
      known.users.add(uid)
      return
    }
    const { platform, client, resource } = this.#options
    const selection = { namespace, fieldSelector: `metadata.name=${name}` }
    const watched: Watched<T> = {
      key,
      informer: new Informer({ platform, client, resource, selection }),
      users: new Set([uid]),
      stopping: new AbortController(),
      readVersion: undefined,
    }
    this.#watched.set(key, watched)
    watched.informer.addEventHandler((_, { oldObject, newObject }) => {
      // Immutable objects are not watched any further; the cached copy stays.
      if (newObject?.immutable) watched.stopping.abort()
      const isKnown = oldObject === undefined && newObject?.metadata.resourceVersion === watched.readVersion
      if (!isKnown) this.#options.onChange([...watched.users])
    })
    if (this.#signal) this.#start(watched, this.#signal)
  }

  #leave(uid: string, key: string): void {
    const watched = this.#watched.get(key)
    watched?.users.delete(uid)
    if (watched?.users.size !== 0) return
    this.#watched.delete(key)
    watched.stopping.abort()
  }

  #start({ informer, stopping }: Watched<T>, signal: AbortSignal): void {
    const running = informer.run(AbortSignal.any([signal, stopping.signal]))
    this.#runs.add(running)
    void running.finally(() => this.#runs.delete(running))
  }
}

const none: ReadonlySet<string> = new Set()
