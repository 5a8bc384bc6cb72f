import { isApiError } from '#/api/errors.ts'
import { parseJson } from '#/api/text/json.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  resourceListOf,
  type ApiGroup,
  type ApiGroupDiscoveryList,
  type ApiGroupList,
  type ApiResourceList,
} from './discovery-documents.ts'

/** A cached document is used for this time. */
const ttlMs = 6 * 60 * 60_000

const documentBytesMax = 50_000_000

export interface CachedDiscoveryOptions {
  readonly platform: Platform
  readonly client: Client
  /** `~/.kube/cache`. */
  readonly folder: string
  /** URL of the API server. */
  readonly server: string
}

/**
 * The discovery documents of a server, cached in files in the layout of upstream's kubectl, so that both share them.
 * Files are replaced atomically; processes that write the same file write the same content. A cache that cannot be
 * read or written only makes commands slower.
 */
export class CachedDiscovery {
  readonly #platform: Platform
  readonly #client: Client
  readonly #folder: string
  readonly #memory = new Map<string, Promise<unknown>>()
  #isFromServer = false
  #fetched: Promise<ReadonlyMap<string, object>> | undefined

  constructor({ platform, client, folder, server }: CachedDiscoveryOptions) {
    this.#platform = platform
    this.#client = client
    this.#folder = `${folder}/discovery/${serverFolder(server)}`
  }

  /** True if nothing that was returned so far comes from files. */
  get isFresh(): boolean {
    return this.#isFromServer
  }

  /** In the server's order. */
  async groups(): Promise<readonly ApiGroup[]> {
    const list = (await this.#document('servergroups.json')) as ApiGroupList | undefined
    return list?.groups ?? []
  }

  /** `v1`, `apps/v1`. Undefined if the version is not served, or its extension server does not respond. */
  async resources(groupVersion: string): Promise<ApiResourceList | undefined> {
    return (await this.#document(`${groupVersion}/serverresources.json`)) as ApiResourceList | undefined
  }

  /** From now on, the server is asked. */
  invalidate(): void {
    this.#memory.clear()
    this.#isFromServer = true
    this.#fetched = undefined
  }

  #document(name: string): Promise<unknown> {
    return this.#memory.getOrInsertComputed(name, () => this.#load(name))
  }

  async #load(name: string): Promise<unknown> {
    const cached = this.#isFromServer ? undefined : await this.#read(name)
    if (cached !== undefined) return cached
    this.#fetched ??= this.#fetch()
    return (await this.#fetched).get(name)
  }

  async #read(name: string): Promise<unknown> {
    const { files, clock } = this.#platform
    const path = `${this.#folder}/${name}`
    try {
      const [status, content] = await Promise.all([files.stat(path), files.read(path)])
      if (status === undefined || Math.abs(clock.now() - status.modifiedMs) > ttlMs) return undefined
      return parseJson(content, { maxBytes: documentBytesMax })
    } catch {
      return undefined
    }
  }

  /** The documents by the names of their files. */
  async #fetch(): Promise<ReadonlyMap<string, object>> {
    this.#isFromServer = true
    const [core, groups] = await Promise.all([this.#aggregated('/api'), this.#aggregated('/apis')])
    const items = [...(core.items ?? []), ...(groups.items ?? [])]
    const documents = new Map<string, object>()
    const listed = items.flatMap(({ metadata, versions = [] }): readonly ApiGroup[] => {
      const name = metadata?.name ?? ''
      const known = versions.map(({ version }) => ({
        groupVersion: name === '' ? version : `${name}/${version}`,
        version,
      }))
      for (const version of versions) {
        if (version.freshness === 'Stale') continue
        const list = resourceListOf(name, version)
        documents.set(`${list.groupVersion}/serverresources.json`, list)
      }
      return known[0] ? [{ name, versions: known, preferredVersion: known[0] }] : []
    })
    documents.set('servergroups.json', {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: listed,
    } satisfies ApiGroupList)
    await this.#write(documents)
    return documents
  }

  async #aggregated(path: string): Promise<ApiGroupDiscoveryList> {
    const accept =
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,' +
      'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json'
    try {
      const response = await this.#client.raw({ method: 'GET', path, headers: { accept } })
      const value = (await response.value()) as ApiGroupDiscoveryList & { readonly kind?: string }
      if (value.kind === 'APIGroupDiscoveryList') return value
    } catch (error) {
      if (isApiError(error, 'NotFound')) return {}
      throw error
    }
    const { discoverUnaggregated } = await import('./unaggregated.ts')
    return discoverUnaggregated(this.#client, path)
  }

  async #write(documents: ReadonlyMap<string, object>): Promise<void> {
    const { files } = this.#platform
    const write = async ([name, document]: readonly [string, object]): Promise<void> => {
      const path = `${this.#folder}/${name}`
      await files.makeFolder(path.slice(0, path.lastIndexOf('/')), { mode: 0o750 })
      await files.write(path, JSON.stringify(document), { mode: 0o660 })
    }
    // The list of groups comes last: a list whose resources are missing would hide them.
    const [lists, groups] = [false, true].map(isGroups =>
      [...documents].filter(([name]) => (name === 'servergroups.json') === isGroups),
    )
    try {
      await Promise.all(lists!.map(write))
      await Promise.all(groups!.map(write))
    } catch {
      // The next command asks the server again.
    }
  }
}

/** `127.0.0.1_6443` for `https://127.0.0.1:6443`. */
export function serverFolder(server: string): string {
  return server.replace(/^https?:\/\//, '').replaceAll(/[^(\w/.)]/g, '_')
}
