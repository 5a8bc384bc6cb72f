/** Keeps the APIServices of the group versions of this server in the cluster. */
import type { APIService } from '#/api/generated/apiregistration/v1.ts'
import { apiServices } from '#/api/generated/apiregistration/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import type { GroupVersion, Resource } from '#/api/resource.ts'
import type { SchemeChange } from '#/api/scheme.ts'
import type { Backoff } from '#/base/backoff.ts'
import { createObject } from '../registry/create-object.ts'
import { deleteObject } from '../registry/delete-object.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf } from '../registry/store-keys.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { updateObject } from '../registry/update-object.ts'
import { apiServiceName, type ApiServices } from './api-services.ts'
import { localApiService, planRegistration } from './plan-registration.ts'
import { SyncLoop } from '../sync-loop.ts'

const retryBackoff: Backoff = { initialMs: 500, maxMs: 60_000, factor: 2, jitter: 0 }

/** A group version of the scheme. */
interface ServedVersion extends GroupVersion {
  resources: number
}

export class LocalRegistration {
  readonly #registry: Registry
  readonly #apiServices: ApiServices
  /** Names of the APIServices of built-in group versions: those of the scheme before any definition was read. */
  readonly #builtin: ReadonlySet<string>
  /** By the name of the APIService. */
  readonly #served = new Map<string, ServedVersion>()
  readonly #loop: SyncLoop

  /** The registry's admission must admit everything: the writes are those of the server itself. */
  constructor(registry: Registry, apiServices: ApiServices) {
    this.#registry = registry
    this.#apiServices = apiServices
    this.#builtin = new Set(registry.scheme.resources().map(apiServiceName))
    this.#loop = new SyncLoop({
      platform: registry.platform,
      failureMessage: 'Failed to register APIService',
      keyName: 'apiService',
      backoff: retryBackoff,
      sync: async name => {
        await this.#sync(name, false)
        return undefined
      },
    })
  }

  /** Reads the scheme. */
  load(): void {
    for (const resource of this.#registry.scheme.resources()) this.#count(resource, 1)
  }

  /** Registers all group versions. Resolves when their APIServices exist. */
  async start(): Promise<void> {
    const registered = Array.from(this.#apiServices.all(), ({ name }) => name)
    const names = new Set([...this.#served.keys(), ...registered])
    await Promise.all(Array.from(names, name => this.#sync(name, true)))
  }

  /** Follows the scheme and the APIServices until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#registry.scheme.onChange(change => this.#note(change))
    this.#apiServices.onChange(name => this.#loop.add(name))
    await this.#loop.run(signal)
    unsubscribe()
  }

  #note({ added, removed }: SchemeChange): void {
    for (const resource of removed) this.#count(resource, -1)
    for (const resource of added) this.#count(resource, 1)
    for (const resource of [...removed, ...added]) this.#loop.add(apiServiceName(resource))
  }

  #count(resource: Resource, change: 1 | -1): void {
    const name = apiServiceName(resource)
    const { group, version } = resource
    const served = this.#served.get(name) ?? { group, version, resources: 0 }
    served.resources += change
    if (served.resources > 0) this.#served.set(name, served)
    else this.#served.delete(name)
  }

  async #sync(name: string, isStarting: boolean): Promise<void> {
    const served = this.#served.get(name)
    const desired = served && localApiService(served, !this.#builtin.has(name))
    const stored = this.#registry.cache.get(keyOf(apiServices, '', name))?.object
    const current = stored as APIService | undefined
    const action = planRegistration({ desired, current, isStarting })
    try {
      if (action === 'create') await createObject(this.#registry, requestFor(name), desired!)
      else if (action === 'update') await this.#update(name, desired!)
      else if (action === 'delete') {
        const preconditions = { ...(current?.metadata.uid && { uid: current.metadata.uid }) }
        await deleteObject(this.#registry, requestFor(name), { ...deleteOptions, preconditions })
      }
    } catch (error) {
      // It was changed in the meantime, and the event of the change triggers the next sync.
      const isLost = (['AlreadyExists', 'NotFound', 'Conflict'] as const).some(each =>
        isApiError(error, each),
      )
      if (!isLost) throw error
    }
  }

  async #update(name: string, { spec }: APIService): Promise<void> {
    await updateObject(this.#registry, requestFor(name), {
      change: current => ({ ...current, spec }) as APIService,
    })
  }
}

function requestFor(name: string) {
  return systemWriteRequest(apiServices, name)
}

const deleteOptions = { gracePeriodSeconds: undefined, propagationPolicy: undefined }
