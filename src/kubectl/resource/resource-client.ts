import { ApiError } from '#/api/errors.ts'
import { parseJson } from '#/api/text/json.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { isObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { CallOptions, Client } from '#/client/client.ts'
import { resourcePath, type PathResource, type ResourceTarget } from '#/client/resource-path.ts'
import { readAll } from '#/base/read-all.ts'
import { requireObjectName } from './info.ts'
import type { TransportResponse } from '#/client/transport.ts'

/** An object or a collection of a resource. */
export interface ResourceLocation extends ResourceTarget {
  readonly mapping: PathResource
}

export interface ListQuery extends CallOptions {
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly limit?: number | undefined
  readonly continue?: string | undefined
  readonly resourceVersion?: string | undefined
  /** Requests a Table. */
  readonly asTable?: boolean
  /** The rows of the Table contain whole objects. */
  readonly includeObject?: boolean
}

export interface WatchQuery extends ListQuery {
  readonly timeoutSeconds?: number
}

export interface WriteQuery extends CallOptions {
  /** Server-side dry run. */
  readonly dryRun?: boolean
  readonly fieldManager?: string | undefined
  readonly fieldValidation?: string | undefined
  /** Server-side apply only. */
  readonly force?: boolean
}

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

export interface ObjectPatch {
  readonly type: keyof typeof patchTypes
  /** Sent as it is. */
  readonly body: string | Uint8Array
}

export interface ObjectWatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: JsonObject
}

const bodyBytesMax = 500_000_000

/** Accepts a Table, or else the objects themselves, as servers without tables return them. */
export const tableMediaTypes =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

export interface ResourceClientOptions {
  readonly requestTimeoutMs?: number
  /** Added to the query of each get and list. */
  readonly readParameters?: Readonly<Record<string, string>>
}

/**
 * Reads and writes objects of any kind as JSON values: fields that this program does not know are kept, and so are
 * nulls and the precision of numbers. Errors of the API are thrown as ApiError.
 */
export class ResourceClient {
  readonly client: Client
  readonly #requestTimeoutMs: number | undefined
  readonly #readParameters: Readonly<Record<string, string>>

  constructor(client: Client, { requestTimeoutMs, readParameters = {} }: ResourceClientOptions = {}) {
    this.client = client
    this.#requestTimeoutMs = requestTimeoutMs
    this.#readParameters = readParameters
  }

  /** An object with a name, a list without. */
  async get(location: ResourceLocation, query: ListQuery = {}): Promise<JsonObject> {
    const { asTable, signal } = query
    const parameters = listParameters(query)
    for (const [name, value] of Object.entries(this.#readParameters)) parameters.set(name, value)
    const response = await this.client.raw({
      method: 'GET',
      path: pathOf(location),
      query: parameters,
      signal,
      ...(asTable && { headers: { accept: tableMediaTypes } }),
    })
    return objectIn(response)
  }

  async *watch(
    location: ResourceLocation,
    query: WatchQuery = {},
  ): AsyncGenerator<ObjectWatchEvent, void, undefined> {
    const { asTable, signal, timeoutSeconds } = query
    const parameters = listParameters(query)
    parameters.set('watch', 'true')
    const requestSeconds = this.#requestTimeoutMs && Math.ceil(this.#requestTimeoutMs / 1_000)
    const seconds = timeoutSeconds ?? requestSeconds
    if (seconds !== undefined) parameters.set('timeoutSeconds', String(seconds))
    const { name, ...collection } = location
    const path = pathOf(collection)
    if (name !== undefined) parameters.set('fieldSelector', `metadata.name=${name}`)
    const response = await this.client.raw({
      method: 'GET',
      path,
      query: parameters,
      signal,
      ...(asTable && { headers: { accept: tableMediaTypes } }),
    })
    for await (const batch of response.events()) {
      for (const value of batch) {
        const { type, object } = value as { readonly type: string; readonly object: JsonObject }
        if (type === 'ERROR') throw new ApiError(object as unknown as ApiError['status'])
        yield { type: type as ObjectWatchEvent['type'], object }
      }
    }
  }

  async create(location: ResourceLocation, object: JsonValue, query: WriteQuery = {}): Promise<JsonObject> {
    const { name: _name, ...collection } = location
    const target = location.subresource === undefined ? collection : location
    return this.#write('POST', target, { body: { mediaType: 'application/json', value: object }, query })
  }

  async replace(location: ResourceLocation, object: JsonValue, query: WriteQuery = {}): Promise<JsonObject> {
    return this.#write('PUT', location, { body: { mediaType: 'application/json', value: object }, query })
  }

  async patch(
    location: ResourceLocation,
    { type, body }: ObjectPatch,
    query: WriteQuery = {},
  ): Promise<JsonObject> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    return this.#write('PATCH', location, { body: { mediaType: patchTypes[type], bytes }, query })
  }

  /** Returns the object, or a Status. `options` are DeleteOptions without type metadata. */
  async delete(location: ResourceLocation, options: JsonObject = {}): Promise<JsonObject> {
    const value = { kind: 'DeleteOptions', apiVersion: 'v1', ...options }
    return this.#write('DELETE', location, { body: { mediaType: 'application/json', value }, query: {} })
  }

  async #write(
    method: string,
    location: ResourceLocation,
    {
      body,
      query,
    }: { readonly body: NonNullable<Parameters<Client['raw']>[0]['body']>; readonly query: WriteQuery },
  ): Promise<JsonObject> {
    if (method !== 'POST') requireObjectName(location)
    const path = pathOf(location)
    const parameters = writeParameters(query)
    return objectIn(await this.client.raw({ method, path, query: parameters, body, signal: query.signal }))
  }
}

function pathOf({ mapping, namespace, ...target }: ResourceLocation): string {
  return resourcePath(mapping, { ...target, ...(mapping.scope === 'Namespaced' && { namespace }) })
}

function listParameters(query: ListQuery): URLSearchParams {
  const { labelSelector, fieldSelector, limit, continue: token, resourceVersion, includeObject } = query
  return parametersOf({
    labelSelector: labelSelector || undefined,
    fieldSelector: fieldSelector || undefined,
    limit: limit || undefined,
    continue: token || undefined,
    resourceVersion,
    includeObject: includeObject ? 'Object' : undefined,
  })
}

function writeParameters({ dryRun, fieldManager, fieldValidation, force }: WriteQuery): URLSearchParams {
  return parametersOf({
    dryRun: dryRun ? 'All' : undefined,
    fieldManager: fieldManager || undefined,
    fieldValidation: fieldValidation || undefined,
    force,
  })
}

function parametersOf(
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return parameters
}

async function objectIn(response: TransportResponse): Promise<JsonObject> {
  const value = parseJson(await readAll(response.bytes(), bodyBytesMax))
  if (!isObject(value)) throw new Error('the response of the server is not an object')
  return value
}
