import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import { readAll } from '#/base/read-all.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { serverFolder } from '../discovery/cached-discovery.ts'

export interface SchemaDocumentsOptions {
  readonly platform: Platform
  readonly client: Client
  /** `~/.kube/cache`. */
  readonly folder: string
  /** URL of the API server. */
  readonly server: string
}

const documentBytesMax = 100_000_000

/**
 * The OpenAPI documents of a server. The documents of version 3 are cached in files whose names contain the hash
 * that the server gives, so that they are never outdated. A cache that cannot be read or written only makes
 * commands slower.
 */
export class SchemaDocuments {
  readonly #platform: Platform
  readonly #client: Client
  readonly #folder: string

  constructor({ platform, client, folder, server }: SchemaDocumentsOptions) {
    this.#platform = platform
    this.#client = client
    this.#folder = `${folder}/openapi/${serverFolder(server)}`
  }

  /** By `api/v1`, `apis/apps/v1`: the URLs of documents. Undefined if the server has no OpenAPI version 3. */
  async urls(): Promise<ReadonlyMap<string, string> | undefined> {
    try {
      const { paths } = await this.#fetch('/openapi/v3')
      const entries = Object.entries(isObject(paths) ? paths : {})
      return new Map(
        entries.flatMap(([path, entry]) => {
          const url = isObject(entry) ? entry['serverRelativeURL'] : undefined
          return typeof url === 'string' ? [[path, url]] : []
        }),
      )
    } catch (error) {
      if (isApiError(error)) return undefined
      throw error
    }
  }

  /** The document at a URL of `urls`. */
  async document(url: string): Promise<JsonObject> {
    const { pathname, searchParams } = new URL(url, 'http://server')
    const hash = searchParams.get('hash') ?? ''
    const name = `${pathname}-${hash}`.replace(/^\/+/, '').replaceAll(/[^\w.-]/g, '_')
    const file = hash === '' ? undefined : `${this.#folder}/${name}.json`
    const cached = file && (await this.#read(file))
    if (cached) return cached
    const document = await this.#fetch(pathname, searchParams)
    if (file !== undefined) await this.#write(file, document)
    return document
  }

  /** The OpenAPI document of version 2. */
  version2(): Promise<JsonObject> {
    return this.#fetch('/openapi/v2')
  }

  async #fetch(path: string, query?: URLSearchParams): Promise<JsonObject> {
    const headers = { accept: 'application/json' }
    const response = await this.#client.raw({ method: 'GET', path, headers, ...(query && { query }) })
    return objectIn(await readAll(response.bytes(), documentBytesMax))
  }

  async #read(path: string): Promise<JsonObject | undefined> {
    try {
      return objectIn(await this.#platform.files.read(path))
    } catch {
      return undefined
    }
  }

  async #write(path: string, document: JsonObject): Promise<void> {
    const { files } = this.#platform
    try {
      await files.makeFolder(this.#folder, { mode: 0o750 })
      await files.write(path, JSON.stringify(document), { mode: 0o660 })
    } catch {
      // The next command fetches the document again.
    }
  }
}

function objectIn(bytes: Uint8Array): JsonObject {
  const value = parseJson(bytes, { maxBytes: documentBytesMax })
  if (isObject(value)) return value
  throw new Error('the OpenAPI document of the server is not an object')
}
