import { ApiError, isApiError } from '#/api/errors.ts'
import { configMaps, namespaces } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client, ListOptions, ObjectList } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import { TransportError } from '#/client/transport.ts'
import type { Platform } from '#/platform/platform.ts'
import type { InformerState, Outcome, WatchSession } from '../history/history.ts'
import { dataOf, endsInitialEvents, namespace, objectsOf, versionOf, watchedEventOf } from './config-maps.ts'
import {
  outcomeOfError,
  type ListRequest,
  type ListResult,
  type ObjectClient,
  type ObjectRequest,
  type WatchRequest,
} from './object-client.ts'

export interface ConfigMapClientOptions {
  readonly name: string
  readonly client: Client
  readonly platform: Platform
}

/** Objects are ConfigMaps of one namespace, and the client is that of k8ts. */
export class ConfigMapClient implements ObjectClient {
  readonly #client: Client
  readonly #platform: Platform
  readonly #name: string

  constructor({ name, client, platform }: ConfigMapClientOptions) {
    this.#name = name
    this.#client = client
    this.#platform = platform
  }

  /** Unless it exists. */
  async createNamespace(): Promise<void> {
    try {
      await this.#client.create(namespaces, { metadata: { name: namespace } })
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
    }
  }

  async perform(request: ObjectRequest, timeoutMs: number): Promise<Outcome> {
    try {
      const object = await this.#within(timeoutMs, signal => this.#send(request, signal))
      return object === undefined ? { type: 'ok' } : { type: 'ok', version: versionOf(object) }
    } catch (error) {
      if (error instanceof ApiError) return outcomeOfError(error.status)
      if (error instanceof TransportError && !error.sent) return { type: 'failed', reason: 'Rejected' }
      return { type: 'unknown', reason: error instanceof Error ? error.message : String(error) }
    }
  }

  async list(request: ListRequest, timeoutMs: number): Promise<ListResult | 'expired' | undefined> {
    try {
      return await this.#listPages(request, timeoutMs)
    } catch (error) {
      return isExpired(error) ? 'expired' : undefined
    }
  }

  async watch(request: WatchRequest): Promise<WatchSession['end']> {
    const { afterRevision, timeoutSeconds, signal, onEvent, onInitialEventsEnd } = request
    const start =
      afterRevision === undefined
        ? ({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const)
        : { resourceVersion: String(afterRevision) }
    const idleTimeoutMs = timeoutSeconds * 1_000 + idleExtraMs
    const options = { namespace, ...start, timeoutSeconds, idleTimeoutMs, signal, allowWatchBookmarks: true }
    try {
      for await (const { type, object } of this.#client.watch(configMaps, options)) {
        const event = watchedEventOf(type, object)
        if (event === undefined) continue
        if (endsInitialEvents(type, object)) onInitialEventsEnd(event.revision)
        else onEvent(event)
      }
      return 'closed'
    } catch (error) {
      return isExpired(error) ? 'expired' : 'failed'
    }
  }

  startInformer(signal: AbortSignal): () => InformerState['objects'] {
    const informer = new Informer({
      client: this.#client,
      platform: this.#platform,
      resource: configMaps,
      selection: { namespace },
    })
    void informer.run(signal)
    return () => objectsOf(informer.list())
  }

  async #listPages(request: ListRequest, timeoutMs: number): Promise<ListResult> {
    const options = { namespace, ...listOptions(request) }
    const page = (of: ListOptions): Promise<ObjectList<ConfigMap>> =>
      this.#within(timeoutMs, signal => this.#client.list(configMaps, { ...of, signal }))
    const first = await page(options)
    const items = [...first.items]
    for (let next = first.metadata.continue; next;) {
      if (request.pagePauseMs) await this.#platform.clock.sleep(request.pagePauseMs)
      const { limit } = request
      const following = await page({ namespace, continue: next, ...(limit !== undefined && { limit }) })
      items.push(...following.items)
      next = following.metadata.continue
    }
    return { revision: Number(first.metadata.resourceVersion), objects: objectsOf(items) }
  }

  async #within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController()
    const onTimeout = (): void => abort.abort(new Error(`no response within ${timeoutMs} ms`))
    const timer = this.#platform.clock.setTimer(timeoutMs, onTimeout)
    try {
      return await work(abort.signal)
    } finally {
      timer.cancel()
    }
  }

  #send(request: ObjectRequest, signal: AbortSignal): Promise<Stored<ConfigMap> | undefined> {
    const { verb, key: name, value = '', expectedRevision, isStale } = request
    const at = { namespace, name }
    const resourceVersion =
      expectedRevision === undefined ? {} : { resourceVersion: String(expectedRevision) }
    const object = { metadata: { ...at, ...resourceVersion }, data: dataOf(value) }
    switch (verb) {
      case 'create':
        return this.#client.create(configMaps, object, { signal })
      case 'get':
        return this.#client.get(configMaps, at, { signal, ...(isStale && { resourceVersion: '0' }) })
      case 'update':
        return this.#client.update(configMaps, object, { signal })
      case 'patch': {
        const patch = { metadata: resourceVersion, data: dataOf(value) }
        return this.#client.patch(configMaps, at, { type: 'merge', patch }, { signal })
      }
      case 'apply': {
        const options = { fieldManager: `applier-${this.#name}`, force: true, signal }
        return this.#client.apply(configMaps, { metadata: at, data: dataOf(value) }, options)
      }
      case 'delete':
        return this.#client.delete(configMaps, at, {
          signal,
          ...(expectedRevision !== undefined && { preconditions: resourceVersion }),
        })
    }
  }
}

function isExpired(error: unknown): boolean {
  return isApiError(error, 'Expired') || isApiError(error, 'Gone')
}

/** A watch that is silent this long after its timeout has lost its server. */
const idleExtraMs = 5_000

function listOptions({ match, requestedRevision, limit }: ListRequest): ListOptions {
  const limited = limit === undefined ? {} : { limit }
  switch (match) {
    case 'consistent':
      return limited
    case 'any':
      return { ...limited, resourceVersion: '0' }
    case 'not-older-than':
      return {
        ...limited,
        resourceVersion: String(requestedRevision),
        resourceVersionMatch: 'NotOlderThan',
      }
    case 'exact':
      return { ...limited, resourceVersion: String(requestedRevision), resourceVersionMatch: 'Exact' }
  }
}
