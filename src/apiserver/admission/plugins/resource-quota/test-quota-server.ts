/** The parts of an API server that quota tests need: writes through admission to a shared store. */
import { defaultResources } from '#/api/builtin.ts'
import { ApiError } from '#/api/errors.ts'
import type { ResourceQuota } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { Scheme } from '#/api/scheme.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import { systemWriteRequest } from '../../../registry/system-write-request.ts'
import { alwaysAllow } from '../../../authz/always.ts'
import { WatchCache } from '../../../registry/watch-cache.ts'
import type { Registry } from '../../../registry/registry.ts'
import { storeRoot } from '../../../registry/store-keys.ts'
import { createObject } from '../../../registry/create-object.ts'
import { updateObject } from '../../../registry/update-object.ts'
import type { WriteRequest } from '../../../registry/write-request.ts'
import { AdmissionChain } from '../../admission-chain.ts'
import { resourceQuota } from '../resource-quota.ts'

interface QuotaServerOptions {
  readonly platform: Platform
  readonly store: Store
  readonly configuration?: JsonValue
  readonly signal: AbortSignal
}

type Change = (oldObject: never) => object

export class QuotaServer {
  readonly registry: Registry

  private constructor(registry: Registry) {
    this.registry = registry
  }

  static async start({ platform, store, configuration, signal }: QuotaServerOptions): Promise<QuotaServer> {
    const cache = new WatchCache({ store, platform, prefix: storeRoot })
    const collections = { hooks: new Map(), watches: new Set<never>() }
    const parts = { platform, store, cache, scheme, ...collections, authorizer: alwaysAllow }
    const plugin = resourceQuota({ ...parts, extendRegistry: () => undefined }, configuration)
    const registry = { ...parts, admission: new AdmissionChain([plugin]) }
    const { promise, resolve } = Promise.withResolvers<void>()
    void cache.run(signal, resolve)
    await promise
    return new QuotaServer(registry)
  }

  /** Returns `done` or the error message. */
  async create(resource: string, object: object, options: Partial<WriteRequest> = {}): Promise<string> {
    return outcome(
      createObject(this.registry, this.#request(resource, '', options), object as KubernetesObject),
    )
  }

  async update(resource: string, name: string, change: Change, subresource = ''): Promise<string> {
    const update = { change: (oldObject: KubernetesObject) => change(oldObject as never) as KubernetesObject }
    return outcome(updateObject(this.registry, this.#request(resource, name, { subresource }), update))
  }

  /** Creates a quota with status. */
  async createQuota(name: string, { used = {}, ...spec }: QuotaSpec): Promise<void> {
    const { hard } = spec
    await this.create('resourcequotas', { metadata: { name }, spec })
    await this.setStatus(name, { hard, used: { ...zero(hard), ...used } })
  }

  async setStatus(name: string, status: object): Promise<void> {
    await this.update('resourcequotas', name, (oldObject: object) => ({ ...oldObject, status }), 'status')
    await this.registry.cache.waitForLatest()
  }

  /** `status.used` of a quota, read from the store. */
  async used(name: string): Promise<Readonly<Record<string, string>>> {
    const entry = await this.registry.store.get(`/registry/resourcequotas/default/${name}`)
    const quota = JSON.parse(Buffer.from(entry!.value).toString()) as ResourceQuota
    return quota.status?.used ?? {}
  }

  async count(folder: string): Promise<number> {
    return (await this.registry.store.list({ prefix: `/registry/${folder}/default/` })).entries.length
  }

  #request(name: string, object: string, options: Partial<WriteRequest>): WriteRequest {
    const [resource = '', ...group] = name.split('.')
    const found = scheme.resources().find(each => each.plural === resource && each.group === group.join('.'))!
    return { ...systemWriteRequest(found, object, 'default'), ...options }
  }
}

export interface QuotaSpec {
  readonly hard: Readonly<Record<string, string>>
  readonly used?: Readonly<Record<string, string>>
  readonly scopes?: readonly string[]
  readonly scopeSelector?: object
}

const scheme = new Scheme(defaultResources())

function zero(hard: QuotaSpec['hard']): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(hard).map(name => [name, '0']))
}

async function outcome(write: Promise<unknown>): Promise<string> {
  try {
    await write
    return 'done'
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
}
