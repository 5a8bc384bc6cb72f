/**
 * Tables, as shown by `kubectl get`. Cells are rendered by the server, so that all clients show the same
 * columns, for custom resources too. See
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { badRequest } from '#/api/errors.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { columnsOf } from '#/api/columns.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { KindColumns } from '#/api/table-columns.ts'
import type { Clock } from '#/platform/platform.ts'
import { JoinedBody } from './joined-body.ts'
import type { ListContent, ListMeta } from './list-body.ts'
import { jsonFrame, textFrame } from './list-frames.ts'
import { mediaTypes } from './negotiation.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { RequestContext, ValueBody } from './request.ts'
import { metadataOnly, type View } from './view.ts'

export interface TableRequest {
  readonly context: Pick<RequestContext, 'request'>
  readonly registry: { readonly platform: { readonly clock: Clock } }
}

export type IncludeObject = 'None' | 'Metadata' | 'Object'

export function tableBody(view: View, { objects, meta }: ListContent, request: TableRequest): ValueBody {
  const { format, pretty } = view.negotiated
  const options = rowOptions(view, request)
  const head = headOf(view, meta, options.kindColumns)
  const value = (stored: StoredObject): object => rowOf(view, stored, options)
  const isPlain = format === 'json' && !pretty && options.include !== 'Object'
  const list = { head: head as unknown as JsonObject, name: 'rows', objects }
  return new JoinedBody({
    clock: request.registry.platform.clock,
    mediaType: mediaTypes[format],
    objects,
    value: () => ({ ...head, rows: objects.map(value) }),
    frame: () => {
      if (isPlain) return jsonFrame(list, (stored, index) => [plainRow(view, stored, { ...options, index })])
      return textFrame({ ...list, value: stored => value(stored) as JsonValue }, view.negotiated)
    },
  })
}

/** A Table with one row, for watches. */
export function tableOfOne(view: View, stored: StoredObject, request: TableRequest): object {
  const options = rowOptions(view, request)
  const head = headOf(view, { resourceVersion: String(stored.revision) }, options.kindColumns)
  return { ...head, rows: [rowOf(view, stored, options)] }
}

function includeObject(query: URLSearchParams): IncludeObject {
  const asked = query.get('includeObject') ?? 'Metadata'
  if (asked === '' || asked === 'Metadata') return 'Metadata'
  if (asked === 'None' || asked === 'Object') return asked
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(asked.slice(0, 100))}`)
}

interface RowOptions {
  readonly kindColumns: KindColumns
  readonly include: IncludeObject
  readonly nowMs: number
}

function rowOptions({ resource }: View, { context, registry }: TableRequest): RowOptions {
  return {
    kindColumns: columnsOf(resource),
    include: includeObject(context.request.query),
    nowMs: registry.platform.clock.now(),
  }
}

function headOf(view: View, metadata: ListMeta, { columns }: KindColumns) {
  const version = view.negotiated.transform?.version ?? 'v1'
  return { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions: columns }
}

function rowOf(view: View, stored: StoredObject, { kindColumns, include, nowMs }: RowOptions): object {
  const object = stored.object
  const version = view.negotiated.transform?.version ?? 'v1'
  const conditions = kindColumns.conditions?.(object) ?? []
  return {
    cells: kindColumns.cells(object, nowMs),
    ...(conditions.length > 0 && { conditions }),
    ...(include !== 'None' && { object: include === 'Metadata' ? metadataOnly(object, version) : object }),
  }
}

/**
 * Cells change with time and are rendered each time; the metadata, the largest part of a row, is encoded
 * once.
 */
function plainRow(
  view: View,
  stored: StoredObject,
  options: RowOptions & { readonly index: number },
): Uint8Array {
  const { kindColumns, include, nowMs, index } = options
  const version = view.negotiated.transform?.version ?? 'v1'
  const { object } = stored
  const conditions = kindColumns.conditions?.(object) ?? []
  let row = `${index > 0 ? ',' : ''}{"cells":${JSON.stringify(kindColumns.cells(object, nowMs))}`
  if (conditions.length > 0) row += `,"conditions":${JSON.stringify(conditions)}`
  if (include === 'Metadata')
    row += `,"object":${stored.form(`metadata ${version}`, each => metadataText(each, version))}`
  return Buffer.from(`${row}}`)
}

function metadataText(object: KubernetesObject, version: 'v1' | 'v1beta1'): string {
  return stringifyJson(metadataOnly(object, version) as unknown as JsonValue)
}
