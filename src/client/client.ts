/**
 * The typed API client: every verb over a `Resource<T>`, independent of the transport. All components of a
 * cluster reach the API server only through a client. Errors of the API are thrown as ApiError, matched by
 * `reason`; failures of the connection as TransportError. Responses with Retry-After are retried.
 *
 * ```ts
 * const pod = await client.get(pods, { namespace: 'default', name: 'web-0' })
 * ```
 */
import type { Status } from '#/api/errors.ts'
import type { FieldSelector } from '#/api/selectors/field-selector.ts'
import type { ListMeta, Preconditions } from '#/api/generated/meta/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Pass } from '#/api/origin.ts'
import type { JsonPatchOperation } from '#/api/patch.ts'
import type { Resource } from '#/api/resource.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { Platform } from '#/platform/platform.ts'
import { RestClient } from './request/rest-client.ts'
import type { RestClientHostMetrics } from './rest-client-metrics.ts'
import type { Transport, TransportBody, TransportResponse } from './transport.ts'

export interface Client {
  /** Throws ApiError `NotFound` when the object does not exist. */
  get<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options?: GetOptions,
  ): Promise<Stored<T>>
  /** As `get`, but returns undefined when the object does not exist. */
  find<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options?: GetOptions,
  ): Promise<Stored<T> | undefined>
  /** One page when `limit` is set. */
  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>>
  /**
   * Lists all pages. The result is a consistent snapshot, unless the continue token expired and the list was
   * repeated.
   */
  listAll<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>>
  /**
   * Yields watch events until the server ends the watch. The request is sent when the iteration begins;
   * ending the iteration closes the watch. An ERROR event is thrown as ApiError.
   */
  watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>
  /** As `watch`, but yields all events that have arrived as one batch. */
  watchBatches<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): AsyncIterable<readonly WatchEvent<T>[]>
  create<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Stored<T>>
  /** Throws ApiError `Conflict` when the object was changed since the resourceVersion of `object`. */
  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Stored<T>>
  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Stored<T>>
  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    at: PatchTarget,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>>
  /** Server-side apply: `object` has exactly the fields that the field manager wants to own. */
  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: ApplyConfiguration<T>,
    options: ApplyOptions,
  ): Promise<Stored<T>>
  /**
   * Returns the object if the server still has it, as while finalizers or a grace period delay the deletion.
   */
  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options?: DeleteOptions,
  ): Promise<Stored<T> | undefined>
  deleteCollection(resource: Resource, options?: ListOptions & DeleteOptions): Promise<void>
  /** The caller is responsible for the type of the subresource: `Scale`, `Eviction`, `TokenRequest`. */
  getSubresource<S extends object>(resource: Resource, at: SubresourceKey, options?: GetOptions): Promise<S>
  createSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    value: S,
    options?: WriteOptions,
  ): Promise<S | Status>
  updateSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    value: S,
    options?: WriteOptions,
  ): Promise<S>
  /** Sends any request. Resolves with a successful response; errors are thrown. */
  raw(request: RawRequest): Promise<TransportResponse>
}

/** The namespace is required for namespaced resources. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

export interface SubresourceKey extends ObjectKey {
  readonly subresource: string
}

export interface PatchTarget extends ObjectKey {
  /** `status`, `scale`; the object itself when absent. */
  readonly subresource?: string
}

export interface ObjectList<T extends KubernetesObject> {
  readonly items: readonly Stored<T>[]
  readonly metadata: ListMeta
}

export type WatchEvent<T extends KubernetesObject> = ObjectEvent<T> | BookmarkEvent

export interface ObjectEvent<T extends KubernetesObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** For `DELETED` the last state, with the resourceVersion of the deletion. */
  readonly object: Stored<T>
}

/** All events up to this resourceVersion have been sent. The object has only metadata. */
export interface BookmarkEvent {
  readonly type: 'BOOKMARK'
  readonly object: KubernetesObject
}

export type Patch =
  | { readonly type: 'json'; readonly patch: readonly JsonPatchOperation[] }
  | { readonly type: 'merge' | 'strategic'; readonly patch: object }

/** An apply configuration: a partial object that identifies its target. */
export type ApplyConfiguration<T> = Partial<T> & KubernetesObject

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Timeout for the response headers. */
  readonly timeoutMs?: number
  /** The pass of the component that writes. Not sent with reads. */
  readonly pass?: Pass | undefined
}

export interface GetOptions extends CallOptions {
  readonly resourceVersion?: string
  /** Includes uninitialized objects, on servers with initializers. */
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
  /** Includes uninitialized objects, on servers with initializers. */
  readonly includeUninitialized?: boolean
  /** The objects have only kind, apiVersion and metadata. */
  readonly metadataOnly?: boolean
}

export interface ListOptions extends SelectOptions {
  readonly limit?: number | undefined
  readonly continue?: string | undefined
}

export interface WatchOptions extends SelectOptions {
  readonly allowWatchBookmarks?: boolean
  /** Sends ADDED events for all existing objects and a bookmark that marks their end, then changes. */
  readonly sendInitialEvents?: boolean
  /** A watch without data for this long is closed with a TransportError `stalled`. */
  readonly idleTimeoutMs?: number
}

export interface WriteOptions extends CallOptions {
  /** Processes the request without persisting it. */
  readonly dryRun?: boolean
  readonly fieldManager?: string
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  /** Takes ownership of fields of other field managers. */
  readonly force?: boolean
  readonly subresource?: string
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground'
  /** The deletion fails unless uid and resourceVersion match. */
  readonly preconditions?: Preconditions
}

/** For code that also runs in a browser, which has no other client. */
export type RawClient = Pick<Client, 'raw'>

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
  /** Shown in the server's logs and used as the default field manager: `kube-scheduler`. */
  readonly userAgent: string
  /** Called with each warning that the server returns. */
  readonly onWarning?: (text: string) => void
  /** Timeout for the response headers of requests that do not set one. */
  readonly timeoutMs?: number
  readonly metrics?: RestClientHostMetrics | undefined
}

export function clientOf(options: ClientOptions): Client {
  return new RestClient(options)
}
