/**
 * A minimal API server for client tests: it serves any path, keeps every version of every object, and
 * implements what clients rely on: resourceVersions, conflicts, paging, watches from any version, bookmarks,
 * 410.
 */
import {
  alreadyExists,
  ApiError,
  apiError,
  badRequest,
  conflict,
  expired,
  notFound,
  optimisticLockErrorMessage,
  type ErrorSubject,
} from '#/api/errors.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { applyPatch } from '#/api/patch.ts'
import type { ApiRequest, ApiResponse, StreamChunk } from '#/api/transport.ts'
import type { Clock } from '#/platform/platform.ts'
import { chunkOf, valueResponse } from '#/simulation/faulty-transport.ts'

export interface ServerEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  /** The path of the collection across all namespaces. */
  readonly collection: string
  readonly object: KubernetesObject
}

export interface SmallServerOptions {
  readonly clock: Clock
  readonly bookmarkMs?: number
  /** Supports streaming lists (`sendInitialEvents`). */
  readonly streamsLists?: boolean
}

interface Target {
  readonly collection: string
  readonly namespace: string
  readonly name: string
  readonly subject: ErrorSubject
}

export class SmallServer {
  /** All events, oldest first; the revision of an event is its index plus one. */
  readonly history: ServerEvent[] = []
  readonly requests: string[] = []
  compactedRevision = 0
  readonly #clock: Clock
  readonly #bookmarkMs: number
  readonly #streamsLists: boolean
  readonly #watchers = new Set<() => void>()

  constructor({ clock, bookmarkMs = 60_000, streamsLists = true }: SmallServerOptions) {
    this.#clock = clock
    this.#bookmarkMs = bookmarkMs
    this.#streamsLists = streamsLists
  }

  get revision(): number {
    return this.history.length
  }

  readonly handle = async (request: ApiRequest): Promise<ApiResponse> => {
    this.requests.push(`${request.method} ${request.path}?${request.query.toString()}`)
    try {
      return await this.#route(request)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return valueResponse(error.status, error.code)
    }
  }

  /** The objects of a collection, by key, at a revision. */
  state(collection: string, revision = this.revision): Map<string, KubernetesObject> {
    const objects = new Map<string, KubernetesObject>()
    for (const event of this.history.slice(0, revision)) {
      if (event.collection !== collection) continue
      if (event.type === 'DELETED') objects.delete(keyOf(event.object))
      else objects.set(keyOf(event.object), event.object)
    }
    return objects
  }

  write(collection: string, object: KubernetesObject): KubernetesObject {
    const before = this.state(collection).get(keyOf(object))
    const uid = before?.metadata.uid ?? `uid-${this.revision + 1}`
    return this.#append(before ? 'MODIFIED' : 'ADDED', collection, {
      ...object,
      metadata: { ...object.metadata, uid },
    })
  }

  delete(collection: string, key: string): KubernetesObject | undefined {
    const before = this.state(collection).get(key)
    return before && this.#append('DELETED', collection, before)
  }

  /** Compacts the history: watches from earlier revisions must relist. */
  compact(): void {
    this.compactedRevision = this.revision
  }

  #append(type: ServerEvent['type'], collection: string, object: KubernetesObject): KubernetesObject {
    const revision = this.revision + 1
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
    this.history.push({ type, revision, collection, object: written })
    for (const wake of this.#watchers) wake()
    return written
  }

  async #route(request: ApiRequest): Promise<ApiResponse> {
    const target = targetOf(request.path)
    const isOne = target.name !== ''
    switch (request.method) {
      case 'GET':
        if (isOne) return valueResponse(this.#get(target), 200)
        return request.query.get('watch') === 'true'
          ? this.#watch(request, target)
          : this.#list(request, target)
      case 'POST':
        return this.#create(await bodyOf(request), target)
      case 'PUT':
        return this.#update(await bodyOf(request), target)
      case 'PATCH':
        return this.#patch(await bodyOf(request), target)
      case 'DELETE':
        this.#get(target)
        this.delete(target.collection, keyOfTarget(target))
        return valueResponse({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }, 200)
      default:
        throw badRequest(`no such method: ${request.method}`)
    }
  }

  #get(target: Target): KubernetesObject {
    const object = this.state(target.collection).get(keyOfTarget(target))
    if (object === undefined) throw notFound(target.subject)
    return object
  }

  #create(object: KubernetesObject, target: Target): ApiResponse {
    const subject = { ...target.subject, name: object.metadata.name ?? '' }
    if (this.state(target.collection).has(keyOf(object))) throw alreadyExists(subject)
    return valueResponse(this.write(target.collection, object), 201)
  }

  #update(object: KubernetesObject, target: Target): ApiResponse {
    const version = object.metadata.resourceVersion
    const current = this.#get(target).metadata.resourceVersion
    if (version && version !== current) throw conflict(target.subject, optimisticLockErrorMessage)
    return valueResponse(this.write(target.collection, object), 200)
  }

  #patch(patch: unknown, target: Target): ApiResponse {
    const patched = applyPatch('merge', {
      current: this.#get(target) as unknown as JsonValue,
      patch: patch as JsonValue,
    })
    return valueResponse(this.write(target.collection, patched as unknown as KubernetesObject), 200)
  }

  #list({ query }: ApiRequest, { collection, namespace }: Target): ApiResponse {
    const limit = Number(query.get('limit') ?? 0) || Infinity
    const [revision = this.revision, after = ''] = readToken(query.get('continue'))
    if (revision < this.compactedRevision) throw expired('The provided continue parameter is too old')
    const all = [...this.state(collection, revision)]
      .filter(([, object]) => namespace === '' || object.metadata.namespace === namespace)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .filter(([key]) => key > after)
    const page = all.slice(0, limit)
    const token = page.length < all.length ? { continue: `${revision} ${page.at(-1)![0]}` } : {}
    const items = page.map(([, { kind: _kind, apiVersion: _version, ...rest }]) => rest)
    return valueResponse(
      { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: String(revision), ...token }, items },
      200,
    )
  }

  #watch({ query, signal }: ApiRequest, target: Target): ApiResponse {
    const initial = query.get('sendInitialEvents') === 'true'
    if (initial && !this.#streamsLists) throw apiError('Invalid', 'sendInitialEvents is forbidden for watch')
    const from = query.get('resourceVersion')
    const revision = from ? Number(from) : this.revision
    if (revision < this.compactedRevision) {
      throw expired(`too old resource version: ${revision} (${this.compactedRevision})`)
    }
    const endMs = this.#clock.monotonicMs() + Number(query.get('timeoutSeconds') ?? 1e6) * 1_000
    const chunks = this.#events({ target, revision, initial, endMs, signal })
    return { status: 200, body: { type: 'stream', mediaType: 'application/json', chunks } }
  }

  async *#events(watch: Watch): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    const {
      target: { collection, namespace },
      initial,
      endMs,
      signal,
    } = watch
    const isWanted = ({ metadata }: KubernetesObject): boolean => {
      return namespace === '' || metadata.namespace === namespace
    }
    let { revision } = watch
    if (initial) {
      const objects = [...this.state(collection, revision).values()].filter(isWanted)
      yield [
        ...objects.map(object => chunkOf('ADDED', object)),
        bookmark(revision, { 'k8s.io/initial-events-end': 'true' }),
      ]
    }
    while (!signal.aborted && this.#clock.monotonicMs() < endMs - 1) {
      if (revision < this.compactedRevision) {
        return yield [chunkOf('ERROR', expired('too old resource version').status)]
      }
      const news = this.history.slice(revision).filter(event => {
        return event.collection === collection && isWanted(event.object)
      })
      revision = this.revision
      if (news.length > 0) yield news.map(({ type, object }) => chunkOf(type, object))
      if (revision < this.revision) continue
      const isNews = await this.#news(Math.min(this.#bookmarkMs, endMs - this.#clock.monotonicMs()), signal)
      if (!isNews && !signal.aborted) yield [bookmark(revision)]
    }
  }

  /** Waits for an event; false on timeout. */
  #news(withinMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (isNews: boolean): void => {
        this.#watchers.delete(wake)
        signal.removeEventListener('abort', end)
        timer.cancel()
        resolve(isNews)
      }
      const wake = (): void => settle(true)
      const end = (): void => settle(false)
      const timer = this.#clock.setTimer(withinMs, end)
      this.#watchers.add(wake)
      signal.addEventListener('abort', end, { once: true })
    })
  }
}

interface Watch {
  readonly target: Target
  readonly revision: number
  readonly initial: boolean
  readonly endMs: number
  readonly signal: AbortSignal
}

function bookmark(revision: number, annotations?: Readonly<Record<string, string>>): StreamChunk {
  const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) }
  return chunkOf('BOOKMARK', { kind: 'Bookmark', apiVersion: 'v1', metadata })
}

async function bodyOf({ body }: ApiRequest): Promise<KubernetesObject> {
  return (body.value ?? JSON.parse(Buffer.from(await body.bytes(10_000_000)).toString())) as KubernetesObject
}

/** API root, namespace, resource, name and subresource. */
const path = /^(\/api\/\w+|\/apis\/[^/]+\/\w+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/\w+)?$/

function targetOf(text: string): Target {
  const [, root = '', namespace = '', plural = '', name = ''] = path.exec(text) ?? []
  if (root === '') throw notFound({ group: '', kind: text, name: '' })
  const group = root.startsWith('/apis/') ? root.split('/')[2]! : ''
  return { collection: `${root}/${plural}`, namespace, name, subject: { group, kind: plural, name } }
}

function keyOfTarget({ namespace, name }: Target): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

function readToken(token: string | null): [number?, string?] {
  if (token === null) return []
  const [revision, after] = token.split(' ')
  return [Number(revision), after ?? '']
}
