/** Response body of a list: joins the cached bytes of the objects without encoding them again. */
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { encodeProtobufList } from '#/api/protobuf.ts'
import { apiVersionOf, isCustomKind } from '#/api/resource.ts'
import { mediaTypes } from './negotiation.ts'
import type { ListItemsCache } from './registry/list-items-cache.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'
import { tableBody, type TableRequest } from './table.ts'
import { encodeValue, type View } from './view.ts'

export interface ListMeta {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export interface ListContent {
  readonly objects: readonly StoredObject[]
  readonly meta: ListMeta
}

/**
 * All objects under a prefix, with the revision of their last change, which identifies the list's content.
 */
export interface WholeList {
  readonly prefix: string
  readonly changedRevision: number
}

export interface ListRequest extends TableRequest {
  readonly registry: TableRequest['registry'] & { readonly cache: { readonly listItems: ListItemsCache } }
  readonly whole?: WholeList | undefined
}

export function listBody(view: View, content: ListContent, request: ListRequest): ValueBody {
  const { objects, meta } = content
  const { format, transform, pretty } = view.negotiated
  if (transform?.kind === 'Table') return tableBody(view, content, request)
  const head = headOf(view, meta)
  const isJoined = format === 'json' && !pretty
  return {
    type: 'value',
    mediaType: mediaTypes[format],
    // In-process callers get the cached objects themselves.
    get value() {
      return { ...head, items: objects.map(stored => view.value(stored)) }
    },
    bytes() {
      if (isJoined) {
        const { registry, whole } = request
        const items = registry.cache.listItems.items({ whole, form: view.formName }, () =>
          joinItems(view, objects),
        )
        return [startOf(head), ...items, end]
      }
      if (format === 'protobuf' && transform === undefined) {
        return [
          encodeProtobufList(
            head,
            objects.map(stored => view.bytes(stored)),
          ),
        ]
      }
      return [encodeValue(listValue(view, objects, head), view.negotiated)]
    },
  }
}

interface ListHead {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: ListMeta
}

function headOf({ resource, negotiated: { transform } }: View, metadata: ListMeta): ListHead {
  if (transform)
    return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${transform.version}`, metadata }
  return { kind: resource.listKind ?? `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata }
}

function listValue(view: View, objects: readonly StoredObject[], head: ListHead): object {
  const keepsKind = hasKindInItems(view)
  const items = objects.map(stored => {
    const value = view.value(stored)
    if (keepsKind) return value
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = value
    return rest
  })
  return { ...head, items }
}

/**
 * Items of built-in lists omit kind and apiVersion; custom resources and PartialObjectMetadata include them.
 */
function hasKindInItems({ resource, negotiated: { transform } }: View): boolean {
  return isCustomKind(resource) || transform !== undefined
}

function startOf(head: ListHead): Uint8Array {
  return Buffer.from(`${stringifyJson(head as unknown as JsonValue).slice(0, -1)},"items":[`)
}

function joinItems(view: View, objects: readonly StoredObject[]): readonly Uint8Array[] {
  const keepsKind = hasKindInItems(view)
  const blocks = new Blocks()
  for (const [index, stored] of objects.entries()) {
    const bytes = view.bytes(stored)
    if (keepsKind) {
      if (index > 0) blocks.add(comma)
      blocks.add(bytes)
    } else {
      blocks.add(index > 0 ? commaBrace : brace)
      blocks.add(withoutKind(bytes))
    }
  }
  return blocks.finish()
}

const comma = Buffer.from(',')
const brace = Buffer.from('{')
const commaBrace = Buffer.from(',{')
const end = Buffer.from(']}\n')
const metadataStart = Buffer.from('"metadata":{')

/** The JSON after `kind` and `apiVersion`, which come first, without the opening brace. */
function withoutKind(json: Uint8Array): Uint8Array {
  const head = Buffer.from(json.buffer, json.byteOffset, Math.min(json.length, 1_024))
  return json.subarray(head.indexOf(metadataStart))
}

/** Joins small chunks into large blocks, because each chunk has a cost in the transport. */
class Blocks {
  readonly #finished: Uint8Array[] = []
  #block = Buffer.allocUnsafe(blockBytes)
  #used = 0

  add(bytes: Uint8Array): void {
    if (this.#used + bytes.length > this.#block.length) this.#turnOver(bytes.length)
    this.#block.set(bytes, this.#used)
    this.#used += bytes.length
  }

  finish(): readonly Uint8Array[] {
    this.#turnOver(0)
    return this.#finished
  }

  #turnOver(needed: number): void {
    if (this.#used > 0) this.#finished.push(this.#block.subarray(0, this.#used))
    if (needed > 0) this.#block = Buffer.allocUnsafe(Math.max(blockBytes, needed))
    this.#used = 0
  }
}

const blockBytes = 256 * 1024
