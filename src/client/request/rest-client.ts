import { assert } from '#/base/assert.ts'
import { isApiError, type Status } from '#/api/errors.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type {
  ApplyConfiguration,
  ApplyOptions,
  CallOptions,
  Client,
  ClientOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ObjectKey,
  ObjectList,
  PatchTarget,
  Patch,
  RawRequest,
  SubresourceKey,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../client.ts'
import type { TransportBody, TransportResponse } from '../transport.ts'
import { applyQuery, deleteBody, getQuery, listQuery, watchQuery, writeQuery } from './options-query.ts'
import { assertNamespace, objectPath, resourcePath } from '../resource-path.ts'
import { Sender } from './sender.ts'
import { decodeList, decodeObject, withKind } from './response.ts'
import { watchEvents } from './watch-events.ts'

/** Encodes verbs as requests and decodes responses. The sender handles transport and retries. */
export class RestClient implements Client {
  readonly #sender: Sender
  readonly #clock: ClientOptions['platform']['clock']

  constructor(options: ClientOptions) {
    this.#sender = new Sender(options)
    this.#clock = options.platform.clock
  }

  async get<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options: GetOptions = {},
  ): Promise<Stored<T>> {
    const request = { method: 'GET', path: objectPath(resource, at), query: getQuery(options) }
    return decodeObject(resource, await this.#value(request, options))
  }

  async find<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options: GetOptions = {},
  ): Promise<Stored<T> | undefined> {
    try {
      return await this.get(resource, at, options)
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }

  async list<T extends KubernetesObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    const request = {
      method: 'GET',
      path: resourcePath(resource, { namespace: options.namespace }),
      query: listQuery(options),
      ...(options.metadataOnly && { headers: acceptMetadata('PartialObjectMetadataList') }),
    }
    const list = decodeList(resource, await this.#value(request, options))
    if (!options.metadataOnly) return list
    return { ...list, items: list.items.map(object => metadataOf(resource, object)) }
  }

  listAll<T extends KubernetesObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    return listPages(page => this.list(resource, { ...options, ...page }), options.limit)
  }

  async *watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    for await (const batch of this.watchBatches(resource, options)) yield* batch
  }

  watchBatches<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    const path = resourcePath(resource, { namespace: options.namespace })
    const query = watchQuery(options)
    const headers = options.metadataOnly && { headers: acceptMetadata('PartialObjectMetadata') }
    const send = (signal: AbortSignal): Promise<TransportResponse> => {
      return this.#sender.send({ method: 'GET', path, query, ...options, ...headers, signal })
    }
    const batches = watchEvents<T>({
      send,
      clock: this.#clock,
      idleTimeoutMs: options.idleTimeoutMs,
      signal: options.signal,
    })
    return options.metadataOnly ? metadataEvents(resource, batches) : batches
  }

  async create<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    const namespace = object.metadata.namespace
    assertNamespace(resource, namespace)
    const request = {
      method: 'POST',
      path: resourcePath(resource, { namespace }),
      query: writeQuery(options),
    }
    return decodeObject(resource, await this.#value({ ...request, body: bodyOf(resource, object) }, options))
  }

  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#put(resource, { object, options })
  }

  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#put(resource, { object, options, subresource: 'status' })
  }

  async patch<T extends KubernetesObject>(
    resource: Resource<T>,
    at: PatchTarget,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    const body = { mediaType: patchTypes[patch.type], value: patch.patch }
    const request = { method: 'PATCH', path: objectPath(resource, at), query: writeQuery(options), body }
    return decodeObject(resource, await this.#value(request, options))
  }

  async apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: ApplyConfiguration<T>,
    options: ApplyOptions,
  ): Promise<Stored<T>> {
    const { subresource } = options
    const path = objectPath(resource, { ...keyOfObject(resource, object), subresource })
    // JSON is valid YAML.
    const body = { mediaType: 'application/apply-patch+yaml', value: withKind(resource, object) }
    return decodeObject(
      resource,
      await this.#value({ method: 'PATCH', path, query: applyQuery(options), body }, options),
    )
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<Stored<T> | undefined> {
    const body = { mediaType: 'application/json', value: deleteBody(options) }
    const value = await this.#value({ method: 'DELETE', path: objectPath(resource, at), body }, options)
    return (value as Partial<Status> | undefined)?.kind === 'Status'
      ? undefined
      : decodeObject(resource, value)
  }

  async deleteCollection(resource: Resource, options: ListOptions & DeleteOptions = {}): Promise<void> {
    const path = resourcePath(resource, { namespace: options.namespace })
    const body = { mediaType: 'application/json', value: deleteBody(options) }
    await this.#value({ method: 'DELETE', path, query: listQuery(options), body }, options)
  }

  async getSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    options: GetOptions = {},
  ): Promise<S> {
    return (await this.#value(
      { method: 'GET', path: objectPath(resource, at), query: getQuery(options) },
      options,
    )) as S
  }

  async createSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    value: S,
    options: WriteOptions = {},
  ): Promise<S | Status> {
    const request = { method: 'POST', path: objectPath(resource, at), query: writeQuery(options) }
    return (await this.#value({ ...request, body: subresourceBody(resource, at, value) }, options)) as
      | S
      | Status
  }

  async updateSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    value: S,
    options: WriteOptions = {},
  ): Promise<S> {
    const request = { method: 'PUT', path: objectPath(resource, at), query: writeQuery(options) }
    return (await this.#value({ ...request, body: subresourceBody(resource, at, value) }, options)) as S
  }

  raw(request: RawRequest): Promise<TransportResponse> {
    return this.#sender.send(request)
  }

  async #put<T extends KubernetesObject>(resource: Resource<T>, write: Write<T>): Promise<Stored<T>> {
    const { object, options, subresource } = write
    const path = objectPath(resource, { ...keyOfObject(resource, object), subresource })
    const request = { method: 'PUT', path, query: writeQuery(options), body: bodyOf(resource, object) }
    return decodeObject(resource, await this.#value(request, options))
  }

  async #value(request: RawRequest, { signal, timeoutMs, pass }: CallOptions): Promise<unknown> {
    const response = await this.#sender.send({
      ...request,
      signal,
      pass,
      ...(timeoutMs !== undefined && { timeoutMs }),
    })
    return response.value()
  }
}

interface Write<T> {
  readonly object: T
  readonly options: WriteOptions
  readonly subresource?: string
}

const patchTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
}

function keyOfObject(resource: Resource, { metadata }: KubernetesObject): ObjectKey {
  assert(metadata.name, `${resource.singular}: name is required`)
  return { namespace: metadata.namespace, name: metadata.name }
}

function bodyOf(resource: Resource, object: KubernetesObject): TransportBody {
  return { mediaType: 'application/json', value: withKind(resource, object) }
}

function subresourceBody(resource: Resource, { subresource }: SubresourceKey, value: object): TransportBody {
  const kind = resource.subresources.get(subresource)
  const typed = kind === undefined ? value : { apiVersion: apiVersionOf(kind), kind: kind.kind, ...value }
  return { mediaType: 'application/json', value: typed }
}

/** Page size: large enough to make the number of requests negligible, small enough for cheap pages. */
const pageObjects = 500

type Page = Pick<ListOptions, 'limit' | 'continue' | 'resourceVersion' | 'resourceVersionMatch'>

function acceptMetadata(kind: string): { readonly accept: string } {
  return { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` }
}

/** With the kind of the resource instead of PartialObjectMetadata. */
function metadataOf<T extends KubernetesObject>(resource: Resource<T>, { metadata }: Stored<T>): Stored<T> {
  return { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata } as Stored<T>
}

async function* metadataEvents<T extends KubernetesObject>(
  resource: Resource<T>,
  batches: AsyncIterable<readonly WatchEvent<T>[]>,
): AsyncGenerator<readonly WatchEvent<T>[], void, undefined> {
  for await (const batch of batches) {
    yield batch.map(event => {
      return event.type === 'BOOKMARK' ? event : { ...event, object: metadataOf(resource, event.object) }
    })
  }
}

/**
 * Lists all pages as one list. All pages have the resourceVersion of the first; when the continue token
 * expires, the list is repeated without a limit.
 */
async function listPages<T extends KubernetesObject>(
  list: (page: Page) => Promise<ObjectList<T>>,
  limit = pageObjects,
): Promise<ObjectList<T>> {
  const first = await list({ limit })
  if (!first.metadata.continue) return first
  const items = [...first.items]
  let token: string | undefined = first.metadata.continue
  while (token) {
    let page: ObjectList<T>
    try {
      page = await list({
        limit,
        continue: token,
        resourceVersion: undefined,
        resourceVersionMatch: undefined,
      })
    } catch (error) {
      if (isApiError(error, 'Expired') || isApiError(error, 'Gone')) return list({ limit: undefined })
      throw error
    }
    items.push(...page.items)
    token = page.metadata.continue
  }
  const { resourceVersion } = first.metadata
  return { items, metadata: resourceVersion === undefined ? {} : { resourceVersion } }
}
