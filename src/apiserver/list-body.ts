/** Response bodies of lists in all formats. The cached encodings of the objects are joined. */
import { encodedObject } from '#/api/encoded-object.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { protobufListFrame } from '#/api/protobuf.ts'
import { apiVersionOf, isCustomKind } from '#/api/resource.ts'
import { JoinedBody, type ListFrame } from './joined-body.ts'
import { jsonFrame, nullFrame, textFrame } from './list-frames.ts'
import { mediaTypes } from './negotiation.ts'
import { goTypeOf, notTransformable } from './object-body.ts'
import type { ListItemsCache, ListRange } from './registry/list-items-cache.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'
import { Table, type TableRequest } from './table.ts'
import type { View } from './view.ts'

export interface ListMeta {
  /** Absent in the Table of an object that is not stored. */
  readonly resourceVersion?: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export interface ListContent {
  readonly objects: readonly StoredObject[]
  readonly meta: ListMeta
}

export interface ListRequest extends TableRequest {
  readonly registry: TableRequest['registry'] & { readonly cache: { readonly listItems: ListItemsCache } }
  /** Identifies the content, unless it was selected. */
  readonly range?: ListRange | undefined
}

export function listBody(view: View, content: ListContent, request: ListRequest): ValueBody {
  const { objects, meta } = content
  const { format, transform, pretty } = view.negotiated
  if (transform?.kind === 'Table') return new Table(view, request).body(content)
  if (transform?.kind === 'PartialObjectMetadata') {
    const { resource } = view
    const type = isCustomKind(resource)
      ? '*unstructured.UnstructuredList'
      : goTypeOf(resource, resource.listKind ?? '')
    throw notTransformable(view, `is a list (${type})`)
  }
  const { registry, range } = request
  const head = headOf(view, meta)
  const isPlain = format === 'json' && !pretty
  const isProtobuf = format === 'protobuf'
  return new JoinedBody({
    clock: registry.platform.clock,
    mediaType: mediaTypes[format],
    objects,
    // In-process callers get the cached objects themselves.
    value: () => ({ ...head, items: objects.map(stored => view.value(stored)) }),
    ...(isProtobuf && { prepare: stored => void view.bytes(stored) }),
    frame: () => {
      if (isProtobuf) return protobufFrame(view, head, objects)
      if (transform !== undefined && objects.length === 0)
        return nullFrame({ head: jsonOf(head), name: 'items' }, view.negotiated)
      if (isPlain) return plainFrame(view, head)
      const value = (stored: StoredObject): JsonValue => itemValue(view, stored)
      return textFrame({ head: jsonOf(head), name: 'items', objects, value }, view.negotiated)
    },
    ...(isPlain &&
      range && { shared: { cache: registry.cache.listItems, list: { ...range, form: view.formName } } }),
  })
}

interface ListHead {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: ListMeta
}

function jsonOf(head: ListHead): JsonObject {
  return head as unknown as JsonObject
}

function headOf({ resource, negotiated: { transform } }: View, metadata: ListMeta): ListHead {
  if (transform)
    return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${transform.version}`, metadata }
  const listKind = resource.listKind ?? `${resource.kind}List`
  // Lists of custom resources have an empty token at their end.
  const meta = isCustomKind(resource) ? { continue: '', ...metadata } : metadata
  return { kind: listKind, apiVersion: apiVersionOf(resource), metadata: meta }
}

/**
 * Items of built-in lists omit kind and apiVersion; custom resources and PartialObjectMetadata include them.
 */
function hasKindInItems({ resource, negotiated: { transform } }: View): boolean {
  return isCustomKind(resource) || transform !== undefined
}

function itemValue(view: View, stored: StoredObject): JsonValue {
  const value = encodedObject(view.value(stored))
  if (hasKindInItems(view)) return value as unknown as JsonValue
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = value
  return rest as unknown as JsonValue
}

function plainFrame(view: View, head: ListHead): ListFrame {
  return jsonFrame({ head: jsonOf(head), name: 'items' }, plainItem(view))
}

function plainItem(view: View): ListFrame['item'] {
  if (hasKindInItems(view)) return (stored, index) => [index > 0 ? ',' : '', view.bytes(stored)]
  const startOf = (index: number): string => (index > 0 ? ',{' : '{')
  if (!view.isStored) return (stored, index) => [startOf(index), withoutKind(view.bytes(stored))]
  return (stored, index) => {
    const [start, rest] = stored.jsonFromMetadata
    return [`${startOf(index)}${start}`, rest]
  }
}

const metadataStart = Buffer.from('"metadata":{')

/** The JSON after `kind` and `apiVersion`, which come first, without the opening brace. */
function withoutKind(json: Uint8Array): Uint8Array {
  const head = Buffer.from(json.buffer, json.byteOffset, Math.min(json.length, 1_024))
  return json.subarray(head.indexOf(metadataStart))
}

function protobufFrame(view: View, head: ListHead, objects: readonly StoredObject[]): ListFrame {
  const encoded = objects.map(stored => view.bytes(stored))
  const { start, item, end } = protobufListFrame(head, encoded)
  return { start, item: stored => item(view.bytes(stored)), end }
}
