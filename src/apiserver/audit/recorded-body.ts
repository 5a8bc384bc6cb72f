/** Records the request body for the audit event as the handlers read it; it never reads more than they do. */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { decodeProtobuf } from '#/api/protobuf.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import type { ApiRequest, RequestBody } from '../request.ts'

export class RecordedBody implements RequestBody {
  readonly #body: RequestBody
  readonly #mediaType: string
  #bytes: Uint8Array | undefined

  constructor({ body, headers }: ApiRequest) {
    this.#body = body
    this.#mediaType = headers['content-type'] ?? 'application/json'
  }

  get value(): unknown {
    return this.#body.value
  }

  async bytes(limitBytes: number): Promise<Uint8Array> {
    this.#bytes = await this.#body.bytes(limitBytes)
    return this.#bytes
  }

  /** Streamed bodies are not API objects and are not recorded. */
  get chunks(): RequestBody['chunks'] {
    const body = this.#body
    return body.chunks && (() => body.chunks!())
  }

  /** The decoded body; undefined if it is empty or invalid. */
  read(): JsonValue | undefined {
    if (this.#body.value !== undefined) return this.#body.value as JsonValue
    if (this.#bytes === undefined || this.#bytes.length === 0) return undefined
    try {
      if (this.#mediaType.includes('protobuf')) return decodeProtobuf(this.#bytes)
      return this.#mediaType.includes('yaml') ? parseYaml(this.#bytes) : parseJson(this.#bytes)
    } catch (error) {
      if (error instanceof DecodeError) return undefined
      throw error
    }
  }
}

/** The same request with another body. */
export function withBody(request: ApiRequest, body: RequestBody): ApiRequest {
  const { method, path, search, headers, peer, headerValues, isUpgrade } = request
  return {
    method,
    path,
    ...(search !== undefined && { search }),
    headers,
    peer,
    body,
    ...(isUpgrade && { isUpgrade }),
    ...(headerValues && { headerValues: name => request.headerValues?.(name) ?? [] }),
    // Lazy: the original request creates them on first access.
    get query() {
      return request.query
    },
    get signal() {
      return request.signal
    },
    get isAborted() {
      return request.isAborted ?? request.signal.aborted
    },
  }
}

/** Removes managedFields from an object, a list or a Table. */
export function withoutManagedFields(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { metadata, items, rows } = value
  return {
    ...value,
    ...(isObject(metadata) && { metadata: withoutField(metadata, 'managedFields') }),
    ...(Array.isArray(items) && { items: items.map(withoutManagedFields) }),
    ...(Array.isArray(rows) && {
      rows: rows.map(row =>
        isObject(row) && isObject(row['object'])
          ? { ...row, object: withoutManagedFields(row['object']) }
          : row,
      ),
    }),
  }
}

type JsonObject = Readonly<Record<string, JsonValue>>

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withoutField(object: JsonObject, name: string): JsonObject {
  if (!Object.hasOwn(object, name)) return object
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))
}
