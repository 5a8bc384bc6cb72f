/** Encodes watch events as JSON lines or protobuf frames. */
import { unpooledConcat } from '#/base/unpooled-bytes.ts'
import type { ApiError } from '#/api/errors.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { encodeProtobuf, encodeProtobufWatchEvent } from '#/api/protobuf.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { withEncodedFields } from '#/api/zero-fields.ts'
import { mediaTypes } from './negotiation.ts'
import type { CacheEvent } from './registry/cache-event.ts'
import { rulesOf } from './registry/resource-strategy.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { StreamChunk } from './request.ts'
import { Table, type TableRequest } from './table.ts'
import type { View } from './view.ts'

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

export class WatchEncoder {
  readonly #view: View
  /** Undefined if the events have objects. */
  readonly #table: Table | undefined
  #columnsSent = false

  constructor(view: View, request: TableRequest) {
    this.#view = view
    this.#table = view.negotiated.transform?.kind === 'Table' ? new Table(view, request) : undefined
  }

  get mediaType(): string {
    const { format } = this.#view.negotiated
    return format === 'json' ? mediaTypes.json : `${mediaTypes[format]};stream=watch`
  }

  /** Encodes an event; the bytes are shared with all watchers of the same encoding. */
  event(type: EventType, event: CacheEvent, stored: StoredObject): StreamChunk {
    if (this.#table) return this.#tableChunk(type, this.#table, stored)
    const view = this.#view
    return {
      get value() {
        return { type, object: view.value(stored) }
      },
      bytes: () => event.frame(`${type} ${view.formName}`, () => this.#frame(type, view.bytes(stored))),
    }
  }

  /** Encodes an initial object; not cached, because most are sent once. */
  initial(stored: StoredObject): StreamChunk {
    if (this.#table) return this.#tableChunk('ADDED', this.#table, stored)
    const view = this.#view
    return {
      get value() {
        return { type: 'ADDED', object: view.value(stored) }
      },
      bytes: () => this.#frame('ADDED', view.bytes(stored)),
    }
  }

  /** Encodes a bookmark. */
  bookmark(revision: number, annotations?: Readonly<Record<string, string>>): StreamChunk {
    const {
      resource,
      negotiated: { transform },
    } = this.#view
    const isPartial = transform !== undefined && transform.kind !== 'Table'
    const object: KubernetesObject = {
      kind: isPartial ? 'PartialObjectMetadata' : resource.kind,
      apiVersion: isPartial ? `meta.k8s.io/${transform.version}` : apiVersionOf(resource),
      metadata: { resourceVersion: String(revision), ...(annotations && { annotations }) },
    }
    if (this.#table) return this.#chunk('BOOKMARK', this.#emptyTable(object))
    if (isPartial) return this.#chunk('BOOKMARK', object)
    const { annotations: converted, ...fields } = rulesOf(resource).emptyObject ?? {}
    const metadata = converted
      ? { ...object.metadata, annotations: { ...converted, ...annotations } }
      : object.metadata
    const empty = { ...object, ...fields, metadata }
    return this.#chunk('BOOKMARK', withEncodedFields(empty, resource.schema))
  }

  error(error: ApiError): StreamChunk {
    return this.#chunk('ERROR', error.status)
  }

  #tableChunk(type: EventType, table: Table, stored: StoredObject): StreamChunk {
    const meta = { resourceVersion: String(stored.revision) }
    const content = { objects: [stored], meta }
    // Columns are sent only with the first event.
    const body = this.#columnsSent ? table.bodyWithoutColumns(content) : table.body(content)
    this.#columnsSent = true
    return {
      get value() {
        return { type, object: body.value }
      },
      bytes: () => this.#frame(type, Buffer.concat(body.bytes())),
    }
  }

  #emptyTable({ metadata }: KubernetesObject): object {
    const version = this.#view.negotiated.transform?.version ?? 'v1'
    const { resourceVersion, ...rest } = metadata
    return {
      kind: 'Table',
      apiVersion: `meta.k8s.io/${version}`,
      metadata: { resourceVersion },
      columnDefinitions: null,
      rows: [
        {
          cells: [],
          object: {
            kind: 'PartialObjectMetadata',
            apiVersion: `meta.k8s.io/${version}`,
            metadata: { resourceVersion, ...rest },
          },
        },
      ],
    }
  }

  #chunk(type: EventType, object: object): StreamChunk {
    return { value: { type, object }, bytes: () => this.#frame(type, encodeObject(object, this.#view)) }
  }

  #frame(type: EventType, object: Uint8Array): Uint8Array {
    const { format } = this.#view.negotiated
    if (format === 'protobuf') return encodeProtobufWatchEvent({ type, object })
    const body = object.at(-1) === newline ? object.subarray(0, -1) : object
    return unpooledConcat([frameStarts[type], body, frameEnd])
  }
}

function encodeObject(object: object, { negotiated }: View): Uint8Array {
  if (negotiated.format === 'protobuf') return encodeProtobuf(object)
  return Buffer.from(stringifyJson(object as JsonValue))
}

const newline = 0x0a
const frameEnd = Buffer.from('}\n')

const frameStarts: Readonly<Record<EventType, Uint8Array>> = {
  ADDED: frameStart('ADDED'),
  MODIFIED: frameStart('MODIFIED'),
  DELETED: frameStart('DELETED'),
  BOOKMARK: frameStart('BOOKMARK'),
  ERROR: frameStart('ERROR'),
}

function frameStart(type: EventType): Uint8Array {
  return Buffer.from(`{"type":"${type}","object":`)
}
