/**
 * Tables, as shown by `kubectl get`. Cells are rendered by the server, so that all clients show the same
 * columns, for custom resources too. See
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { badRequest } from '#/api/errors.ts'
import { formatFieldError, invalid } from '#/api/field-error.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { columnsOf } from '#/api/columns.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Column, KindColumns } from '#/api/table-columns.ts'
import type { Clock } from '#/platform/platform.ts'
import { JoinedBody } from './joined-body.ts'
import type { ListContent } from './list-body.ts'
import { jsonFrame, textFrame } from './list-frames.ts'
import { mediaTypes } from './negotiation.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { Piece, RequestContext, ValueBody } from './request.ts'
import { printCells, TableRow, type RowContent } from './table-row.ts'
import { metadataOnly, View } from './view.ts'

export interface TableRequest {
  readonly context: Pick<RequestContext, 'request'>
  readonly registry: { readonly platform: { readonly clock: Clock } }
}

/** The tables of one request. */
export class Table {
  readonly #view: View
  readonly #clock: Clock
  readonly #version: 'v1' | 'v1beta1'
  readonly #kindColumns: KindColumns
  readonly #include: IncludeObject
  /** The view of the objects in the rows, where they are included. */
  readonly #objectView: View
  /** Cache key of the rows. */
  readonly #rowName: string

  /** Throws ApiError. */
  constructor(view: View, { context, registry }: TableRequest) {
    this.#view = view
    this.#clock = registry.platform.clock
    this.#version = view.negotiated.transform?.version ?? 'v1'
    this.#kindColumns = columnsOf(view.resource)
    this.#include = includeObject(context.request.query)
    this.#objectView = new View(view.resource, { format: 'json', pretty: false, transform: undefined })
    this.#rowName = `${view.formName} ${this.#include}`
  }

  body(content: ListContent): ValueBody {
    return this.#body(content, this.#kindColumns.columns)
  }

  /** For events of a watch after the first. */
  bodyWithoutColumns(content: ListContent): ValueBody {
    return this.#body(content, null)
  }

  #body({ objects, meta }: ListContent, columns: readonly Column[] | null): ValueBody {
    const { format, pretty } = this.#view.negotiated
    const nowMs = this.#clock.now()
    const head = {
      kind: 'Table',
      apiVersion: `meta.k8s.io/${this.#version}`,
      metadata: meta,
      columnDefinitions: columns,
    }
    const list = { head: head as unknown as JsonObject, name: 'rows', objects }
    const value = (stored: StoredObject): object => this.#row(stored, nowMs)
    return new JoinedBody({
      clock: this.#clock,
      mediaType: mediaTypes[format],
      objects,
      value: () => ({ ...head, rows: objects.map(value) }),
      frame: () => {
        if (format !== 'json' || pretty)
          return textFrame({ ...list, value: stored => value(stored) as JsonValue }, this.#view.negotiated)
        return jsonFrame(list, (stored, index) => this.#rowPieces(stored, { nowMs, isFirst: index === 0 }))
      },
    })
  }

  #row(stored: StoredObject, nowMs: number): object {
    const { cells, ...rest } = this.#content(stored.object)
    return {
      cells: printCells(cells, nowMs),
      ...rest,
      ...(this.#include === 'Object' && { object: this.#objectView.value(stored) }),
    }
  }

  #rowPieces(stored: StoredObject, { nowMs, isFirst }: RowPosition): readonly Piece[] {
    const row = stored.form(this.#rowName, () => new TableRow(this.#content(stored.peek())))
    const pieces: Piece[] = isFirst ? [] : [',']
    row.addTo(pieces, nowMs, this.#include === 'Object' ? this.#objectView.bytes(stored) : undefined)
    return pieces
  }

  /** The row without an included object, which has encodings of its own. */
  #content(object: KubernetesObject): RowContent {
    const conditions = this.#kindColumns.conditions?.(object) ?? []
    return {
      cells: this.#kindColumns.cells(object),
      ...(conditions.length > 0 && { conditions }),
      ...(this.#include === 'Metadata' && {
        object: metadataOnly(object, this.#view.resource, this.#version),
      }),
      ...(this.#include === 'None' && { object: null }),
    }
  }
}

interface RowPosition {
  readonly nowMs: number
  readonly isFirst: boolean
}

type IncludeObject = 'None' | 'Metadata' | 'Object'

function includeObject(query: URLSearchParams): IncludeObject {
  const asked = query.get('includeObject') ?? 'Metadata'
  if (asked === '' || asked === 'Metadata') return 'Metadata'
  if (asked === 'None' || asked === 'Object') return asked
  const error = invalid('includeObject', asked, "must be 'Metadata', 'Object', 'None', or empty")
  throw badRequest(`Unable to convert to Table as requested: ${formatFieldError(error)}`)
}
