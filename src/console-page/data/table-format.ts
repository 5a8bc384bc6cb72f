import type { ObjectMeta } from '#/api/metadata.ts'
import type { ListFormat } from './watch-cache.ts'

/** A column as the API server defines it for a kind. */
export interface TableColumn {
  readonly name: string
  /** `string`, `integer`, `number`, `boolean`, `date`. */
  readonly type: string
  readonly format?: string
  readonly description?: string
  /** Columns above 0 are shown in wide lists only. */
  readonly priority: number
}

export interface TableRow {
  readonly cells: readonly TableCell[]
  /** The metadata of the object. */
  readonly object: { readonly metadata: ObjectMeta }
}

export type TableCell = string | number | boolean | null

/**
 * Rows as the API server prints them, with the columns of every kind, custom ones included.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
export const tableFormat: ListFormat<TableRow, readonly TableColumn[]> = {
  accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  readPage: table => ({
    items: (table['rows'] ?? []) as TableRow[],
    head: (table['columnDefinitions'] ?? []) as TableColumn[],
  }),
  readItem: table => ((table['rows'] ?? []) as TableRow[])[0],
  metadataOf: row => row.object.metadata,
}
