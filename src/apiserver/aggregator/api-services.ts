import { isDeepStrictEqual } from 'node:util'
import type { APIService } from '#/api/generated/apiregistration/v1.ts'
import { apiServices } from '#/api/generated/apiregistration/v1-resources.ts'
import { isTrue } from '#/api/conditions.ts'
import type { GroupVersion } from '#/api/resource.ts'
import type { CacheEvent } from '../registry/cache-event.ts'
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import type { ServiceName } from '../service-address.ts'
import type { ApiServicePriority } from './priorities.ts'

/** An APIService as the aggregator uses it. */
export interface RegisteredApiService extends ApiServicePriority {
  readonly name: string
  readonly group: string
  readonly version: string
  /** The extension server, by identity; undefined for a local APIService. */
  readonly server: ExtensionServerSettings | undefined
  readonly isAvailable: boolean
}

export interface ExtensionServerSettings {
  readonly service: ServiceName
  /** PEM in base64; empty for the system's certificate authorities. */
  readonly caBundle: string
  readonly insecureSkipTlsVerify: boolean
}

export interface ApiServiceChange {
  readonly before: RegisteredApiService | undefined
  readonly after: RegisteredApiService | undefined
}

/** An APIService of an extension server. */
export type RemoteApiService = RegisteredApiService & { readonly server: ExtensionServerSettings }

/** The APIServices of the cluster, followed in the watch cache. */
export class ApiServices {
  readonly #cache: Registry['cache']
  readonly #registered = new Map<string, RegisteredApiService>()
  readonly #listeners: ((name: string, change: ApiServiceChange) => void)[] = []

  constructor({ cache }: Pick<Registry, 'cache'>) {
    this.#cache = cache
  }

  /** Reads all APIServices and follows them until aborted. */
  follow(signal: AbortSignal): void {
    const subscriber = {
      onEvents: (events: readonly CacheEvent[]) => {
        for (const { key, current } of events) this.#set(key.slice(apiServicesPrefix.length), current)
      },
      onReset: () => this.#readAll(),
    }
    this.#cache.subscribe(apiServicesPrefix, subscriber)
    signal.addEventListener('abort', () => this.#cache.unsubscribe(apiServicesPrefix, subscriber), {
      once: true,
    })
    this.#readAll()
  }

  /** Calls the listener after each change of an APIService. */
  onChange(listener: (name: string, change: ApiServiceChange) => void): void {
    this.#listeners.push(listener)
  }

  get(name: string): RegisteredApiService | undefined {
    return this.#registered.get(name)
  }

  all(): Iterable<RegisteredApiService> {
    return this.#registered.values()
  }

  /** Undefined if this server serves the group version itself. */
  remote(groupVersion: GroupVersion): RemoteApiService | undefined {
    const found = this.#registered.get(apiServiceName(groupVersion))
    return found && isRemote(found) ? found : undefined
  }

  *remotes(): Generator<RemoteApiService, void, undefined> {
    for (const each of this.#registered.values()) if (isRemote(each)) yield each
  }

  #readAll(): void {
    const gone = new Set(this.#registered.keys())
    for (const stored of this.#cache.list(apiServicesPrefix)) {
      gone.delete(stored.object.metadata.name)
      this.#set(stored.object.metadata.name, stored)
    }
    for (const name of gone) this.#set(name, undefined)
  }

  #set(name: string, stored: StoredObject | undefined): void {
    const before = this.#registered.get(name)
    const after = stored && withSameServer(registeredApiService(stored.object as APIService), before)
    if (after === undefined) this.#registered.delete(name)
    else this.#registered.set(name, after)
    for (const listener of this.#listeners) listener(name, { before, after })
  }
}

const apiServicesPrefix = prefixOf(apiServices, '')

export function apiServiceName({ group, version }: GroupVersion): string {
  return `${version}.${group}`
}

function registeredApiService({ metadata, spec, status }: APIService): RegisteredApiService {
  const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify = false } = spec ?? {}
  // Requests for APIServices are never forwarded: a wrong one must remain repairable.
  const isForwarded = service !== undefined && group !== apiServices.group
  const { namespace = '', name = '', port = 443 } = service ?? {}
  return {
    name: metadata.name ?? '',
    group,
    version,
    groupPriorityMinimum: spec?.groupPriorityMinimum ?? 0,
    versionPriority: spec?.versionPriority ?? 0,
    server: isForwarded
      ? { service: { namespace, name, port }, caBundle, insecureSkipTlsVerify: insecureSkipTLSVerify }
      : undefined,
    isAvailable: isTrue(status?.conditions, 'Available'),
  }
}

/** Keeps the settings of the server by identity while they are unchanged. */
function withSameServer(
  apiService: RegisteredApiService,
  before: RegisteredApiService | undefined,
): RegisteredApiService {
  return isDeepStrictEqual(apiService.server, before?.server) && before
    ? { ...apiService, server: before.server }
    : apiService
}

function isRemote(apiService: RegisteredApiService): apiService is RemoteApiService {
  return apiService.server !== undefined
}
