/**
 * The API for programs: every verb over a `Resource<T>`, typed by it, whatever the transport. All components
 * of a cluster hold a client and nothing else of the API server. What the API refuses is thrown as ApiError,
 * matched by `reason`; what fails on the way as TransportError. A server that is busy or not ready and says
 * when to come back is asked again.
 *
 * ```ts
 * const pod = await client.get(pods, { namespace: 'default', name: 'web-0' })
 * ```
 */
import type { Status } from '#/api/errors.ts'
import type { FieldSelector } from '#/api/field-selector.ts'
import type { ListMeta, Preconditions } from '#/api/generated/meta/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { JsonPatchOperation } from '#/api/patch.ts'
import type { Resource } from '#/api/resource.ts'
import type { Selector } from '#/api/selector.ts'
import type { Platform } from '#/platform/platform.ts'
import { RequestingClient } from './request/requesting-client.ts'
import type { Transport, TransportBody, TransportResponse } from './transport.ts'

export interface Client {
  /** Throws ApiError `NotFound` when there is no such object. */
  get<T extends KubernetesObject>(resource: Resource<T>, at: ObjectAddress, options?: GetOptions): Promise<T>
  /** As `get`, where it is to be expected that there is none. */
  find<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectAddress,
    options?: GetOptions,
  ): Promise<T | undefined>
  /** One page when there is a limit. */
  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>>
  /** All of it, asked for page by page; the state of one moment, unless that state expired on the way. */
  listAll<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>>
  /**
   * What changes, until the server ends the watch. The request is sent when the iteration begins; ending the
   * iteration ends the watch. An error that the server sends is thrown as ApiError, also in the middle.
   */
  watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>
  /** As `watch`, with all events at once that have come. */
  watchBatches<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): AsyncIterable<readonly WatchEvent<T>[]>
  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>
  /** Throws ApiError `Conflict` when the object was changed since the version that this one was made from. */
  update<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>
  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>
  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    at: PartAddress,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T>
  /** Server-side apply: `object` says what the field manager wants, and nothing else. */
  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: Applied<T>,
    options: ApplyOptions,
  ): Promise<T>
  /** The object when the server shows it, as it does while finalizers or a grace period keep it. */
  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectAddress,
    options?: DeleteOptions,
  ): Promise<T | undefined>
  deleteCollection(resource: Resource, options?: ListOptions & DeleteOptions): Promise<void>
  /** The caller vouches for the type of what is spoken there: `Scale`, `Eviction`, `TokenRequest`. */
  getSubresource<S extends object>(
    resource: Resource,
    at: SubresourceAddress,
    options?: GetOptions,
  ): Promise<S>
  createSubresource<S extends object>(
    resource: Resource,
    at: SubresourceAddress,
    value: S,
    options?: WriteOptions,
  ): Promise<S | Status>
  updateSubresource<S extends object>(
    resource: Resource,
    at: SubresourceAddress,
    value: S,
    options?: WriteOptions,
  ): Promise<S>
  /** Any request. The answer is one that succeeded; what failed is thrown. */
  raw(request: RawRequest): Promise<TransportResponse>
}

/** Which object. The namespace must be there for a kind that has them. */
export interface ObjectAddress {
  readonly namespace?: string | undefined
  readonly name: string
}

export interface SubresourceAddress extends ObjectAddress {
  readonly subresource: string
}

export interface PartAddress extends ObjectAddress {
  /** `status`, `scale`; the object itself when absent. */
  readonly subresource?: string
}

export interface ObjectList<T> {
  readonly items: readonly T[]
  readonly metadata: ListMeta
}

export type WatchEvent<T> = ObjectEvent<T> | BookmarkEvent

export interface ObjectEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** For `DELETED` the last state, with the version of the deletion. */
  readonly object: T
}

/** Everything up to the version of the object, which has nothing else, has been sent. */
export interface BookmarkEvent {
  readonly type: 'BOOKMARK'
  readonly object: KubernetesObject
}

export type Patch =
  | { readonly type: 'json'; readonly patch: readonly JsonPatchOperation[] }
  | { readonly type: 'merge' | 'strategic'; readonly patch: object }

/** What is applied need not be a whole object, but says which one it is. */
export type Applied<T> = Partial<T> & KubernetesObject

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** How long the server may take until it begins to answer. */
  readonly timeoutMs?: number
}

export interface GetOptions extends CallOptions {
  readonly resourceVersion?: string
  /** Also what initializers have not finished yet, of servers that have them. */
  readonly includeUninitialized?: boolean
}

export interface SelectOptions extends CallOptions {
  /** All namespaces when absent. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | Selector | undefined
  readonly fieldSelector?: string | FieldSelector | undefined
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined
  readonly timeoutSeconds?: number
  /** Also what initializers have not finished yet, of servers that have them. */
  readonly includeUninitialized?: boolean
}

export interface ListOptions extends SelectOptions {
  readonly limit?: number | undefined
  readonly continue?: string | undefined
}

export interface WatchOptions extends SelectOptions {
  readonly allowWatchBookmarks?: boolean
  /**
   * First everything that exists, as if it had been added, and a bookmark that says so; then what changes.
   */
  readonly sendInitialEvents?: boolean
  /** A watch on which nothing comes for so long is given up with a TransportError `stalled`. */
  readonly silenceMsMax?: number
}

export interface WriteOptions extends CallOptions {
  /** Everything but the writing is done. */
  readonly dryRun?: boolean
  readonly fieldManager?: string
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  /** Takes over fields that others own. */
  readonly force?: boolean
  readonly subresource?: string
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground'
  /** The deletion happens only to the very object, or version of it, that is meant. */
  readonly preconditions?: Preconditions
}

export interface RawRequest extends CallOptions {
  readonly method: string
  readonly path: string
  readonly query?: URLSearchParams
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: TransportBody
}

export interface ClientOptions {
  readonly platform: Platform
  readonly transport: Transport
  /** The program, as the server's logs and field managers show it: `kube-scheduler`. */
  readonly userAgent: string
  /** Called with each warning that the server has about a request. */
  readonly onWarning?: (text: string) => void
}

export function clientOf(options: ClientOptions): Client {
  return new RequestingClient(options)
}
