/**
 * The objects of a custom resource whose definition may be absent, and may come and go: a watch of the
 * definition starts and stops the informer of the objects, so that nothing is requested that the API server
 * does not serve.
 */
import { LinkedAbort } from '#/base/abort.ts'
import { isTrue } from '#/api/conditions.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { CustomResource } from '#/custom-resource/custom-resource.ts'
import type { Platform } from '#/platform/platform.ts'

export interface CustomResourceInformerOptions<
  T extends KubernetesObject,
  Defaulted extends KubernetesObject,
> {
  readonly platform: Platform
  readonly client: Client
  readonly resource: CustomResource<T, Defaulted>
  /** Called after every change of `list` and of `hasSynced`. */
  readonly onChange: () => void
}

export class CustomResourceInformer<T extends KubernetesObject, Defaulted extends KubernetesObject> {
  readonly #options: CustomResourceInformerOptions<T, Defaulted>
  readonly #definition: Informer<CustomResourceDefinition>
  #objects: { readonly informer: Informer<T>; readonly uid: string; readonly abort: LinkedAbort } | undefined
  readonly #runs = new Set<Promise<void>>()

  constructor(options: CustomResourceInformerOptions<T, Defaulted>) {
    this.#options = options
    const { platform, client, resource } = options
    const fieldSelector = `metadata.name=${resource.plural}.${resource.group}`
    this.#definition = new Informer({
      platform,
      client,
      resource: customResourceDefinitions,
      selection: { fieldSelector },
    })
  }

  /** True when it is known that there is no definition, or all objects are known. */
  get hasSynced(): boolean {
    return this.#definition.hasSynced && (this.#objects?.informer.hasSynced ?? true)
  }

  /** None without a definition. With the defaults of our definition, even if another one is installed. */
  list(): readonly Stored<T & Defaulted>[] {
    const { resource } = this.#options
    return (this.#objects?.informer.list() ?? []).map(object => resource.withDefaults(object))
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#definition.addEventHandler((_name, { newObject }) => this.#follow(newObject, signal))
    const running = this.#definition.run(signal)
    // Nothing causes no event.
    this.#definition.waitForSync(signal).then(this.#options.onChange, () => undefined)
    await running
    await Promise.all(this.#runs)
  }

  #follow(definition: Stored<CustomResourceDefinition> | undefined, signal: AbortSignal): void {
    const uid =
      definition && isServed(definition, this.#options.resource) ? definition.metadata.uid : undefined
    if (uid === this.#objects?.uid) return
    this.#objects?.abort.abort(new Error('the definition is gone'))
    this.#objects?.abort[Symbol.dispose]()
    this.#objects = undefined
    if (uid !== undefined) this.#start(uid, signal)
    this.#options.onChange()
  }

  #start(uid: string, signal: AbortSignal): void {
    const { platform, client, resource, onChange } = this.#options
    const informer = new Informer({ platform, client, resource })
    const abort = new LinkedAbort(signal)
    informer.addEventHandler(() => onChange())
    this.#objects = { informer, uid, abort }
    const running = informer.run(abort.signal).finally(() => this.#runs.delete(running))
    this.#runs.add(running)
    informer.waitForSync(abort.signal).then(onChange, () => undefined)
  }
}

function isServed(
  { spec, status }: CustomResourceDefinition,
  { version }: { readonly version: string },
): boolean {
  return (
    isTrue(status?.conditions, 'Established') &&
    spec.versions.some(each => each.name === version && each.served)
  )
}
