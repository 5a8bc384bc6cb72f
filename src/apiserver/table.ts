/**
 * Tables, as shown by `kubectl get`. Cells are rendered by the server, so that all clients show the same
 * columns, for custom resources too. See
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { badRequest } from '#/api/errors.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { columnsOf } from '#/api/columns.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { KindColumns } from '#/api/table-columns.ts'
import type { Clock } from '#/platform/platform.ts'
import type { ListContent, ListMeta } from './list-body.ts'
import { mediaTypes } from './negotiation.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { RequestContext, ValueBody } from './request.ts'
import { encodeValue, metadataOnly, type View } from './view.ts'

export interface TableRequest {
  readonly context: Pick<RequestContext, 'request'>
  readonly registry: { readonly platform: { readonly clock: Clock } }
}

export type IncludeObject = 'None' | 'Metadata' | 'Object'

export function tableBody(view: View, { objects, meta }: ListContent, request: TableRequest): ValueBody {
  const { format, pretty } = view.negotiated
  const options = rowOptions(view, request)
  const head = headOf(view, meta, options.kindColumns)
  const value = (): object => ({ ...head, rows: objects.map(stored => rowOf(view, stored, options)) })
  return {
    type: 'value',
    mediaType: mediaTypes[format],
    get value() {
      return value()
    },
    bytes() {
      if (format !== 'json' || pretty || options.include === 'Object')
        return [encodeValue(value(), view.negotiated)]
      return joinRows(view, objects, { ...options, head })
    },
  }
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

interface RowsOptions extends RowOptions {
  readonly head: object
}

/**
 * Cells change with time and are rendered each time; the metadata, the largest part of a row, is encoded
 * once.
 */
function joinRows(
  view: View,
  objects: readonly StoredObject[],
  { head, kindColumns, include, nowMs }: RowsOptions,
): readonly Uint8Array[] {
  const version = view.negotiated.transform?.version ?? 'v1'
  const parts = [`${stringifyJson(head as JsonValue).slice(0, -1)},"rows":[`]
  for (const [index, stored] of objects.entries()) {
    const { object } = stored
    const conditions = kindColumns.conditions?.(object) ?? []
    parts.push(index > 0 ? ',{"cells":' : '{"cells":', JSON.stringify(kindColumns.cells(object, nowMs)))
    if (conditions.length > 0) parts.push(`,"conditions":${JSON.stringify(conditions)}`)
    if (include === 'Metadata') {
      parts.push(
        ',"object":',
        stored.form(`metadata ${version}`, each => metadataText(each, version)),
      )
    }
    parts.push('}')
  }
  parts.push(']}\n')
  return [Buffer.from(parts.join(''))]
}

function metadataText(object: KubernetesObject, version: 'v1' | 'v1beta1'): string {
  return stringifyJson(metadataOnly(object, version) as unknown as JsonValue)
}
