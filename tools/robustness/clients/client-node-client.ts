import * as k8s from '@kubernetes/client-node'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InformerState, Outcome, WatchSession } from '#/simulation/history/history.ts'
import {
  dataOf,
  endsInitialEvents,
  namespace,
  objectsOf,
  versionOf,
  watchedEventOf,
  type ConfigMap,
} from '#/simulation/recording/config-maps.ts'
import {
  outcomeOfError,
  type ErrorStatus,
  type ListRequest,
  type ListResult,
  type ObjectClient,
  type ObjectRequest,
  type WatchRequest,
} from '#/simulation/recording/object-client.ts'

const path = `/api/v1/namespaces/${namespace}/configmaps`
const mergePatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch)
const applyPatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.ServerSideApply)

/** Kubernetes' client for JavaScript. */
export class ClientNodeClient implements ObjectClient {
  readonly #config = new k8s.KubeConfig()
  readonly #core: k8s.CoreV1Api
  readonly #name: string

  constructor(name: string, kubeconfig: string) {
    this.#name = name
    this.#config.loadFromFile(kubeconfig)
    this.#core = this.#config.makeApiClient(k8s.CoreV1Api)
  }

  async perform(request: ObjectRequest, timeoutMs: number): Promise<Outcome> {
    try {
      const object = await withTimeout(this.#send(request), timeoutMs)
      // The response of a deletion is a Status.
      return request.verb === 'delete' ? { type: 'ok' } : { type: 'ok', version: versionOf(object) }
    } catch (error) {
      return outcomeOfFailure(error)
    }
  }

  async list(request: ListRequest, timeoutMs: number): Promise<ListResult | 'expired' | undefined> {
    try {
      return await this.#listPages(request, timeoutMs)
    } catch (error) {
      return error instanceof k8s.ApiException && error.code === 410 ? 'expired' : undefined
    }
  }

  async watch(request: WatchRequest): Promise<WatchSession['end']> {
    const { afterRevision, timeoutSeconds, signal, onEvent, onInitialEventsEnd } = request
    const query = {
      allowWatchBookmarks: true,
      timeoutSeconds,
      ...(afterRevision === undefined
        ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: afterRevision }),
    }
    const { promise, resolve } = Promise.withResolvers<WatchSession['end']>()
    let isExpired = false
    const onChange = (type: string, object: ConfigMap & { readonly code?: number }): void => {
      if (type === 'ERROR') {
        isExpired = object.code === 410
        return
      }
      const event = watchedEventOf(type, object)
      if (event === undefined || signal.aborted) return
      if (endsInitialEvents(type, object)) onInitialEventsEnd(event.revision)
      else onEvent(event)
    }
    const onDone = (error: unknown): void => {
      const hasStatus410 = (error as { readonly statusCode?: number } | null)?.statusCode === 410
      resolve(isExpired || hasStatus410 ? 'expired' : error === null ? 'closed' : 'failed')
    }
    const controller = await new k8s.Watch(this.#config).watch(path, query, onChange, onDone)
    const onAbort = (): void => controller.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    return promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  startInformer(signal: AbortSignal): () => InformerState['objects'] {
    const list = (): Promise<k8s.V1ConfigMapList> => this.#core.listNamespacedConfigMap({ namespace })
    const informer = k8s.makeInformer<k8s.V1ConfigMap>(this.#config, path, list)
    const start = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          await informer.start()
          return
        } catch {
          await sleep(restartMs)
        }
      }
    }
    informer.on('error', () => void sleep(restartMs).then(start))
    signal.addEventListener('abort', () => void informer.stop(), { once: true })
    void start()
    return () => objectsOf(informer.list(namespace))
  }

  async #listPages(request: ListRequest, timeoutMs: number): Promise<ListResult> {
    const { match, requestedRevision, limit, pagePauseMs = 0 } = request
    const matches = { 'not-older-than': 'NotOlderThan', 'exact': 'Exact' } as const
    const options =
      match === 'consistent'
        ? {}
        : match === 'any'
          ? { resourceVersion: '0' }
          : { resourceVersion: String(requestedRevision), resourceVersionMatch: matches[match] }
    const limited = limit === undefined ? {} : { limit }
    const page = (of: object): Promise<k8s.V1ConfigMapList> =>
      withTimeout(this.#core.listNamespacedConfigMap({ namespace, ...of, ...limited }), timeoutMs)
    const first = await page(options)
    const items = [...first.items]
    for (let next = first.metadata?._continue; next;) {
      await sleep(pagePauseMs)
      const following = await page({ _continue: next })
      items.push(...following.items)
      next = following.metadata?._continue
    }
    return { revision: Number(first.metadata?.resourceVersion), objects: objectsOf(items) }
  }

  #send(request: ObjectRequest): Promise<ConfigMap> {
    const { verb, key: name, value = '', expectedRevision } = request
    const at = { namespace, name }
    const resourceVersion =
      expectedRevision === undefined ? {} : { resourceVersion: String(expectedRevision) }
    const body = { metadata: { name, ...resourceVersion }, data: dataOf(value) }
    switch (verb) {
      case 'create':
        return this.#core.createNamespacedConfigMap({ namespace, body })
      case 'get':
        // The generated method has no resourceVersion, so a stale read is a consistent one.
        return this.#core.readNamespacedConfigMap(at)
      case 'update':
        return this.#core.replaceNamespacedConfigMap({ ...at, body })
      case 'patch': {
        const patch = { metadata: resourceVersion, data: dataOf(value) }
        return this.#core.patchNamespacedConfigMap({ ...at, body: patch }, mergePatch)
      }
      case 'apply': {
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: dataOf(value) }
        const options = { fieldManager: `applier-${this.#name}`, force: true }
        return this.#core.patchNamespacedConfigMap({ ...at, body: object, ...options }, applyPatch)
      }
      case 'delete':
        return this.#core.deleteNamespacedConfigMap({
          ...at,
          ...(expectedRevision !== undefined && { body: { preconditions: resourceVersion } }),
        })
    }
  }
}

/** Delay before an informer that failed is started again, as the package's documentation shows it. */
const restartMs = 500

function outcomeOfFailure(error: unknown): Outcome {
  if (error instanceof k8s.ApiException) return outcomeOfError({ ...statusOf(error.body), code: error.code })
  const { cause, message } = error as Error
  // No connection was made.
  if ((cause as { readonly code?: unknown } | undefined)?.code === 'ECONNREFUSED') {
    return { type: 'failed', reason: 'Rejected' }
  }
  return { type: 'unknown', reason: message }
}

function statusOf(body: unknown): ErrorStatus {
  try {
    return (typeof body === 'string' ? JSON.parse(body) : body) as ErrorStatus
  } catch {
    return {}
  }
}

/** The request goes on after the timeout, so that a write may still take effect. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
