/**
 * Follows objects of one resource in the namespaces to which Gateways and policies refer, and in no others.
 * The number of watches is limited by that of the namespaces, not by that of the references, which users
 * choose.
 */
import { LinkedAbort } from '#/base/abort.ts'
import { parseKey, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'

export interface NamespaceInformersOptions<T extends KubernetesObject> {
  readonly platform: Platform
  readonly client: Client
  readonly resource: Resource<T>
  readonly fieldSelector?: string
  /** Called after every change of `get` and of `hasSynced`. */
  readonly onChange: () => void
}

/** Maximum number of namespaces. Objects of further namespaces are not found. */
const namespacesMax = 1_000

interface Followed<T extends KubernetesObject> {
  readonly informer: Informer<T>
  readonly abort: LinkedAbort
}

export class NamespaceInformers<T extends KubernetesObject> {
  readonly #options: NamespaceInformersOptions<T>
  readonly #namespaces = new Map<string, Followed<T>>()
  readonly #runs = new Set<Promise<void>>()
  #hasWarned = false

  constructor(options: NamespaceInformersOptions<T>) {
    this.#options = options
  }

  get hasSynced(): boolean {
    return [...this.#namespaces.values()].every(({ informer }) => informer.hasSynced)
  }

  get(key: string): Stored<T> | undefined {
    return this.#namespaces.get(parseKey(key).namespace ?? '')?.informer.get(key)
  }

  /** Follows the namespaces of these keys until aborted, and stops to follow others. */
  follow(keys: ReadonlySet<string>, signal: AbortSignal): void {
    const wanted = new Set([...keys].map(key => parseKey(key).namespace ?? ''))
    for (const [namespace, { abort }] of this.#namespaces) {
      if (wanted.has(namespace)) continue
      abort.abort(new Error('nothing refers to objects of the namespace'))
      abort[Symbol.dispose]()
      this.#namespaces.delete(namespace)
    }
    for (const namespace of wanted) {
      if (this.#namespaces.has(namespace)) continue
      if (this.#namespaces.size >= namespacesMax) return this.#warn(namespace)
      this.#start(namespace, signal)
    }
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#runs)
  }

  #start(namespace: string, signal: AbortSignal): void {
    const { platform, client, resource, fieldSelector, onChange } = this.#options
    const selection = { namespace, fieldSelector }
    const informer = new Informer({ platform, client, resource, selection })
    const abort = new LinkedAbort(signal)
    informer.addEventHandler(() => onChange())
    this.#namespaces.set(namespace, { informer, abort })
    const running = informer.run(abort.signal).finally(() => this.#runs.delete(running))
    this.#runs.add(running)
    informer.waitForSync(abort.signal).then(onChange, () => undefined)
  }

  #warn(namespace: string): void {
    const { platform, resource } = this.#options
    const { plural } = resource
    if (!this.#hasWarned)
      platform.log.warn('Too many namespaces with objects for Gateways', { namespace, plural, namespacesMax })
    this.#hasWarned = true
  }
}
