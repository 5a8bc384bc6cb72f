import type { Pod } from '#/api/generated/core/v1.ts'
import { isObject } from '#/api/text/json-object.ts'
import { abortable } from '#/base/abort.ts'
import type { Factory } from '../factory.ts'
import { podIn } from '../pods/pods-of.ts'
import { builtInResources } from '../resource/built-in-resources.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { metadataText } from '../resource/info.ts'
import { isTemporary, retryMs } from '../resource/watch-object.ts'

/** Watches the pods of a node, and tells when they are gone. */
export class PodTerminations {
  readonly #factory: Factory
  readonly #fieldSelector: string
  /** By uid; undefined until the pods have been listed. */
  #pods: Map<string, Pod> | undefined
  #changed = Promise.withResolvers<void>()

  constructor(factory: Factory, node: string) {
    this.#factory = factory
    this.#fieldSelector = `spec.nodeName=${node}`
  }

  /** Runs until aborted, which rejects with the reason of the signal. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock } = this.#factory.machine.platform
    for (;;) {
      try {
        await this.#watch(await this.#list(signal), signal)
      } catch (error) {
        if (signal.aborted || !isTemporary(error)) throw error
        await clock.sleep(retryMs, signal)
      }
    }
  }

  /** Resolves when the pod is gone, or `isSkipped` is true of it, which is checked every second. */
  async end(pod: Pod, options: EndOptions): Promise<'gone' | 'skipped'> {
    const { isSkipped, signal } = options
    const uid = pod.metadata.uid ?? ''
    for (;;) {
      signal.throwIfAborted()
      const changed = this.#changed.promise
      const current = this.#pods?.get(uid)
      if (this.#pods !== undefined && current === undefined) return 'gone'
      if (current !== undefined && isSkipped?.(current)) return 'skipped'
      const waits = [changed]
      if (isSkipped && current?.metadata.deletionTimestamp !== undefined) {
        waits.push(this.#factory.machine.platform.clock.sleep(1_000, signal))
      }
      await abortable(Promise.race(waits), signal)
    }
  }

  /** Returns the version of the list. */
  async #list(signal: AbortSignal): Promise<string> {
    const resources = await this.#factory.resources()
    const list = await resources.get(
      { mapping: builtInResources.pods },
      { fieldSelector: this.#fieldSelector, signal },
    )
    this.#pods = new Map(itemsOf(list).map(item => [metadataText(item, 'uid'), podIn(item)]))
    this.#notify()
    const { metadata } = list
    const version = isObject(metadata) ? metadata['resourceVersion'] : undefined
    return typeof version === 'string' ? version : ''
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const resources = await this.#factory.resources()
    const query = { fieldSelector: this.#fieldSelector, resourceVersion: from, signal }
    for await (const { type, object } of resources.watch({ mapping: builtInResources.pods }, query)) {
      if (type === 'BOOKMARK') continue
      const uid = metadataText(object, 'uid')
      if (type === 'DELETED') this.#pods?.delete(uid)
      else this.#pods?.set(uid, podIn(object))
      this.#notify()
    }
  }

  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

export interface EndOptions {
  readonly isSkipped?: (pod: Pod) => boolean
  readonly signal: AbortSignal
}
