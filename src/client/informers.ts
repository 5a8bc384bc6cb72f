/**
 * The shared informers of a process: one informer, with one watch and one cache, for each resource and
 * selection.
 */
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Client } from './client.ts'
import { Informer, type HandledChange } from './informer.ts'
import type { Selection } from './reflector.ts'

export interface InformersOptions {
  readonly client: Client
  readonly platform: Platform
}

export class Informers {
  /** The change whose event handlers are being called. */
  readonly handled: HandledChange = { revision: undefined }
  readonly #options: InformersOptions
  readonly #informers = new Map<string, Informer<KubernetesObject>>()
  readonly #runs = new Set<Promise<void>>()
  #signal: AbortSignal | undefined

  constructor(options: InformersOptions) {
    this.#options = options
  }

  /** An informer created while the others run is started at once. */
  of<T extends KubernetesObject>(resource: Resource<T>, selection: Selection = {}): Informer<T> {
    const key = keyOf(resource, selection)
    const known = this.#informers.get(key)
    // The type is certain: the key contains the resource.
    if (known) return known as unknown as Informer<T>
    const informer = new Informer<T>({ ...this.#options, resource, selection, handled: this.handled })
    this.#informers.set(key, informer as unknown as Informer<KubernetesObject>)
    if (this.#signal) this.#start(informer, this.#signal)
    return informer
  }

  /** An informer of the metadata of all objects; that of the whole objects if it exists. */
  ofMetadata(resource: Resource): Informer<KubernetesObject> {
    return this.#informers.get(keyOf(resource, {})) ?? this.of(resource, { metadataOnly: true })
  }

  /** All informers created so far. */
  all(): readonly Informer<KubernetesObject>[] {
    return [...this.#informers.values()]
  }

  /** Runs all informers, including those created later, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    for (const informer of this.#informers.values()) this.#start(informer, signal)
    if (!signal.aborted) {
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    }
    await Promise.all(this.#runs)
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map(informer => informer.waitForSync(signal)))
  }

  #start(informer: Pick<Informer<KubernetesObject>, 'run'>, signal: AbortSignal): void {
    this.#runs.add(informer.run(signal))
  }
}

function keyOf(
  resource: Resource,
  { namespace = '', labelSelector = '', fieldSelector = '', ...rest }: Selection,
): string {
  const { includeUninitialized = false, metadataOnly = false } = rest
  return JSON.stringify([
    apiVersionOf(resource),
    resource.plural,
    namespace,
    labelSelector.toString(),
    fieldSelector.toString(),
    includeUninitialized,
    metadataOnly,
  ])
}
