/** A client whose writes carry a pass of a component, so that the API server records what caused them. */
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Status } from '#/api/errors.ts'
import type { Pass } from '#/api/origin.ts'
import type { Resource } from '#/api/resource.ts'
import type {
  ApplyConfiguration,
  ApplyOptions,
  Client,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  PatchTarget,
  RawRequest,
  SubresourceKey,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts'
import type { TransportResponse } from './transport.ts'

export class PassClient implements Client {
  readonly #client: Client
  readonly #pass: () => Pass

  /** `pass` is called at each write. */
  constructor(client: Client, pass: () => Pass) {
    this.#client = client
    this.#pass = pass
  }

  get<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options?: GetOptions,
  ): Promise<Stored<T>> {
    return this.#client.get(resource, at, options)
  }

  find<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options?: GetOptions,
  ): Promise<Stored<T> | undefined> {
    return this.#client.find(resource, at, options)
  }

  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#client.list(resource, options)
  }

  listAll<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#client.listAll(resource, options)
  }

  watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): AsyncIterable<WatchEvent<T>> {
    return this.#client.watch(resource, options)
  }

  watchBatches<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    return this.#client.watchBatches(resource, options)
  }

  create<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#client.create(resource, object, { ...options, pass: this.#pass() })
  }

  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#client.update(resource, object, { ...options, pass: this.#pass() })
  }

  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#client.updateStatus(resource, object, { ...options, pass: this.#pass() })
  }

  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    at: PatchTarget,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#client.patch(resource, at, patch, { ...options, pass: this.#pass() })
  }

  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: ApplyConfiguration<T>,
    options: ApplyOptions,
  ): Promise<Stored<T>> {
    return this.#client.apply(resource, object, { ...options, pass: this.#pass() })
  }

  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    at: ObjectKey,
    options?: DeleteOptions,
  ): Promise<Stored<T> | undefined> {
    return this.#client.delete(resource, at, { ...options, pass: this.#pass() })
  }

  deleteCollection(resource: Resource, options?: ListOptions & DeleteOptions): Promise<void> {
    return this.#client.deleteCollection(resource, { ...options, pass: this.#pass() })
  }

  getSubresource<S extends object>(resource: Resource, at: SubresourceKey, options?: GetOptions): Promise<S> {
    return this.#client.getSubresource<S>(resource, at, options)
  }

  createSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    value: S,
    options?: WriteOptions,
  ): Promise<S | Status> {
    return this.#client.createSubresource(resource, at, value, { ...options, pass: this.#pass() })
  }

  updateSubresource<S extends object>(
    resource: Resource,
    at: SubresourceKey,
    value: S,
    options?: WriteOptions,
  ): Promise<S> {
    return this.#client.updateSubresource(resource, at, value, { ...options, pass: this.#pass() })
  }

  raw(request: RawRequest): Promise<TransportResponse> {
    return this.#client.raw({ ...request, pass: this.#pass() })
  }
}
