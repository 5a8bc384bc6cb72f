/**
 * The discovery and OpenAPI documents of extension servers, read in the background and kept, so that requests for
 * discovery never wait for an extension server. They are read again when the APIService changes, and periodically.
 */
import { isDeepStrictEqual } from 'node:util'
import { apiVersionOf } from '#/api/resource.ts'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Backoff } from '#/base/backoff.ts'
import type { Platform } from '#/platform/platform.ts'
import { aggregatedMediaType, type Freshness, type ResourceDiscovery } from '../discovery/aggregated.ts'
import { openApiPart, type OpenApiPart } from '../openapi/extension-parts.ts'
import type { RemoteResponse } from '../remote-server.ts'
import type { UserInfo } from '../request.ts'
import type { ApiServices, RemoteApiService } from './api-services.ts'
import { aggregator } from './availability.ts'
import type { ExtensionServers } from './extension-servers.ts'
import { readGroupDiscoveryList, readResourceList } from './read-discovery.ts'
import { SyncLoop } from '../sync-loop.ts'

export interface ExtensionDocument {
  readonly resources: readonly ResourceDiscovery[]
  readonly freshness: Freshness
  /** URL of the OpenAPI v3 document on this server; undefined if the extension server has none. */
  readonly openApiUrl?: string | undefined
  /** Of OpenAPI v2. */
  readonly openApiPart?: OpenApiPart | undefined
}

export interface ExtensionDocumentsOptions {
  readonly platform: Platform
  readonly apiServices: ApiServices
  readonly servers: ExtensionServers
  /** Called when a document has changed. */
  readonly onChange: () => void
}

/** Before the first answer of a server. */
const unread: ExtensionDocument = { resources: [], freshness: 'Stale' }

export class ExtensionDocuments {
  readonly #options: ExtensionDocumentsOptions
  readonly #documents = new Map<string, ExtensionDocument>()
  /** ETags of the documents that were read, by APIService and path. */
  readonly #etags = new Map<string, ReadonlyMap<string, string>>()
  readonly #loop: SyncLoop

  constructor(options: ExtensionDocumentsOptions) {
    this.#options = options
    this.#loop = new SyncLoop({
      platform: options.platform,
      failureMessage: 'Failed to read the documents of an extension server',
      keyName: 'apiService',
      backoff: retryBackoff,
      sync: (name, signal) => this.#sync(name, signal),
    })
  }

  of({ name }: RemoteApiService): ExtensionDocument {
    return this.#documents.get(name) ?? unread
  }

  /** Reads all documents and follows the APIServices until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices } = this.#options
    apiServices.onChange((name, { before, after }) => {
      // The ETags are those of the server before.
      if (before?.server !== after?.server) this.#etags.delete(name)
      else if (before?.isAvailable === after?.isAvailable) return
      this.#loop.add(name)
    })
    for (const { name } of apiServices.remotes()) this.#loop.add(name)
    await this.#loop.run(signal)
  }

  async #sync(name: string, signal: AbortSignal): Promise<number | undefined> {
    const remote = this.#options.apiServices.get(name)
    if (remote?.server === undefined) {
      this.#documents.delete(name)
      this.#etags.delete(name)
      return undefined
    }
    // A change of availability triggers the next sync.
    if (!remote.isAvailable) {
      this.#set(name, { freshness: 'Stale' })
      return undefined
    }
    const reading = { remote: { ...remote, server: remote.server }, signal }
    try {
      await this.#readDiscovery(reading)
    } catch (error) {
      this.#set(name, { freshness: 'Stale' })
      throw error
    }
    await this.#readOpenApi(reading)
    return refreshMs
  }

  async #readDiscovery(reading: Reading): Promise<void> {
    const { remote } = reading
    const accept = `${aggregatedMediaType('v2')},${aggregatedMediaType('v2beta1')}`
    const all = await this.#read(reading, {
      path: '/apis',
      accept,
      user: aggregator,
      limits: discoveryLimits,
    })
    if (all.status === 304) return this.#set(remote.name, { freshness: 'Current' })
    const isAggregated = /;\s*as=APIGroupDiscoveryList/i.test(all.headers['content-type'] ?? '')
    if (all.status === 200 && isAggregated) {
      const resources = readGroupDiscoveryList(parseJson(all.bytes), remote)
      this.#set(remote.name, { resources, freshness: 'Current' })
      return this.#keepEtag(remote.name, '/apis', all)
    }
    // A server that does not know aggregated discovery.
    const path = remote.group === '' ? `/api/${remote.version}` : `/apis/${apiVersionOf(remote)}`
    const own = await this.#read(reading, { path, accept: json, user: aggregator, limits: discoveryLimits })
    if (own.status === 304) return this.#set(remote.name, { freshness: 'Current' })
    if (own.status !== 200) throw new Error(`failed to download discovery for ${path}: status ${own.status}`)
    this.#set(remote.name, { resources: readResourceList(parseJson(own.bytes)), freshness: 'Current' })
    this.#keepEtag(remote.name, path, own)
  }

  async #readOpenApi(reading: Reading): Promise<void> {
    const results = await Promise.allSettled([
      this.#readOpenApiIndex(reading),
      this.#readOpenApiPart(reading),
    ])
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** Of the index only the group version itself is used: a server must not describe the groups of others. */
  async #readOpenApiIndex(reading: Reading): Promise<void> {
    const { remote } = reading
    const path = '/openapi/v3'
    const answer = await this.#read(reading, { path, accept: json, user: openApiReader, limits: indexLimits })
    if (answer.status === 304) return
    const isMissing = answer.status === 404 || answer.status === 406
    if (answer.status !== 200 && !isMissing)
      throw new Error(`failed to read ${path}: status ${answer.status}`)
    const url = isMissing ? undefined : openApiUrl(parseJson(answer.bytes), `apis/${apiVersionOf(remote)}`)
    if (url !== this.of(remote).openApiUrl) this.#set(remote.name, { openApiUrl: url })
    this.#keepEtag(remote.name, path, answer)
  }

  async #readOpenApiPart(reading: Reading): Promise<void> {
    const { remote } = reading
    const path = '/openapi/v2'
    const answer = await this.#read(reading, {
      path,
      accept: json,
      user: openApiReader,
      limits: version2Limits,
    })
    if (answer.status === 304) return
    const isMissing = answer.status === 404 || answer.status === 406
    if (answer.status !== 200 && !isMissing)
      throw new Error(`failed to read ${path}: status ${answer.status}`)
    const part = isMissing
      ? undefined
      : openApiPart(parseJson(answer.bytes), `/apis/${apiVersionOf(remote)}/`)
    this.#set(remote.name, { openApiPart: part })
    this.#keepEtag(remote.name, path, answer)
  }

  #read({ remote, signal }: Reading, { path, accept, user, limits }: Read): Promise<RemoteResponse> {
    const { servers } = this.#options
    const etag = this.#etags.get(remote.name)?.get(path)
    const headers = { accept, ...(etag !== undefined && { 'if-none-match': etag }) }
    return servers.request(servers.locate(remote.server), { path, headers, user, signal, ...limits })
  }

  /** Kept after the document was read, so that a document that cannot be read is requested again. */
  #keepEtag(name: string, path: string, { headers }: RemoteResponse): void {
    const { etag } = headers
    if (etag === undefined) return
    this.#etags.set(name, new Map([...(this.#etags.get(name) ?? []), [path, etag]]))
  }

  #set(name: string, change: Partial<ExtensionDocument>): void {
    const before = this.#documents.get(name) ?? unread
    const after = { ...before, ...change }
    if (this.#documents.has(name) && isDeepStrictEqual(before, after)) return
    this.#documents.set(name, after)
    this.#options.onChange()
  }
}

interface Reading {
  readonly remote: RemoteApiService
  readonly signal: AbortSignal
}

interface Read {
  readonly path: string
  readonly accept: string
  readonly user: UserInfo
  readonly limits: { readonly timeoutMs: number; readonly answerBytesMax: number }
}

const json = 'application/json'

/** Without rights: every authenticated user may read OpenAPI documents. */
const openApiReader: UserInfo = { username: 'system:aggregator', groups: [] }

/** The URL of a document on this server, with the hash of the extension server. */
function openApiUrl(index: JsonValue, name: string): string | undefined {
  const { paths } = (index ?? {}) as {
    readonly paths?: Readonly<Record<string, { serverRelativeURL?: unknown }>>
  }
  const url = paths?.[name]?.serverRelativeURL
  if (typeof url !== 'string') return undefined
  const hash = URL.parse(url, 'https://localhost')?.searchParams.get('hash')
  return `/openapi/v3/${name}${hash ? `?hash=${encodeURIComponent(hash)}` : ''}`
}

const mebibyte = 1024 * 1024

/** Larger documents are treated like a failure. */
const discoveryLimits = { timeoutMs: 5_000, answerBytesMax: 4 * mebibyte }
const indexLimits = { timeoutMs: 60_000, answerBytesMax: mebibyte }
const version2Limits = { timeoutMs: 60_000, answerBytesMax: 8 * mebibyte }

/** Time between reads without a change of the APIService. */
const refreshMs = 60_000

const retryBackoff: Backoff = { initialMs: 500, maxMs: 60_000, factor: 2, jitter: 0 }
