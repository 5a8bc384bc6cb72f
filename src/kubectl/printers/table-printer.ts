import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { apiVersionText, kindText, metadataText } from '../resource/info.ts'
import { tableWidths, TabWriter } from './tab-writer.ts'

/** A Table of meta.k8s.io, as the server returns it. */
export interface Table {
  readonly columnDefinitions: readonly TableColumn[]
  readonly rows: readonly TableRow[]
}

export interface TableColumn {
  readonly name: string
  readonly format?: string
  readonly priority?: number
}

export interface TableRow {
  readonly cells: readonly JsonValue[]
  /** Absent, metadata only, or whole, as requested. */
  readonly object?: JsonObject
}

export interface TablePrinterOptions {
  readonly write: (text: string) => void
  readonly noHeaders?: boolean | undefined
  /** Columns that are hidden by default. */
  readonly wide?: boolean | undefined
  readonly withNamespace?: boolean | undefined
  /** Prefix of names: `pod`. */
  readonly kind?: string | undefined
  readonly showLabels?: boolean | undefined
  readonly labelColumns?: readonly string[] | undefined
  /** First column: the type of a watch event. */
  readonly event?: string | undefined
}

/** True if a value is a Table, not the objects themselves. */
export function isTable(value: JsonObject): boolean {
  return kindText(value) === 'Table' && apiVersionText(value).startsWith('meta.k8s.io/')
}

export function tableOf(value: JsonObject): Table {
  const { columnDefinitions, rows } = value
  return {
    columnDefinitions: (Array.isArray(columnDefinitions)
      ? columnDefinitions
      : []) as unknown as readonly TableColumn[],
    rows: (Array.isArray(rows) ? rows : []) as unknown as readonly TableRow[],
  }
}

/** Prints tables under each other with common columns, until `flush`. The header is that of the first one. */
export class TablePrinter {
  readonly #writer: TabWriter
  #isFirst = true

  constructor(write: (text: string) => void) {
    this.#writer = new TabWriter({ ...tableWidths, write })
  }

  print(table: Table, options: Omit<TablePrinterOptions, 'write'>): void {
    const columns = table.columnDefinitions
    const shown = [...columns.keys()].filter(index => options.wide || (columns[index]!.priority ?? 0) === 0)
    if (this.#isFirst && !options.noHeaders) this.#line(headersOf(columns, shown, options))
    this.#isFirst = false
    const nameColumn = columns.findIndex(({ format, name }) => format === 'name' || name === 'Name')
    for (const row of table.rows) {
      const cells = shown.map(index => {
        const text = cellText(row.cells[index])
        return index === nameColumn && options.kind ? `${options.kind}/${text}` : text
      })
      this.#line([...leadingCells(row, options), ...cells, ...labelCells(row, options)])
    }
  }

  flush(): void {
    this.#writer.flush()
  }

  #line(cells: readonly string[]): void {
    this.#writer.write(`${cells.join('\t')}\n`)
  }
}

type Options = Omit<TablePrinterOptions, 'write'>

function headersOf(
  columns: readonly TableColumn[],
  shown: readonly number[],
  options: Options,
): readonly string[] {
  const { event, withNamespace, showLabels, labelColumns = [] } = options
  return [
    ...(event === undefined ? [] : ['EVENT']),
    ...(withNamespace ? ['NAMESPACE'] : []),
    ...shown.map(index => columns[index]!.name.toUpperCase()),
    ...labelColumns.map(label => label.slice(label.lastIndexOf('/') + 1).toUpperCase()),
    ...(showLabels ? ['LABELS'] : []),
  ]
}

/** That of `MODIFIED`, since the events that follow are not known. */
const eventWidth = 8

function leadingCells({ object }: TableRow, { event, withNamespace }: Options): readonly string[] {
  return [
    ...(event === undefined ? [] : [event.padEnd(eventWidth)]),
    ...(withNamespace ? [object ? metadataText(object, 'namespace') : ''] : []),
  ]
}

function labelCells({ object }: TableRow, { labelColumns = [], showLabels }: Options): readonly string[] {
  if (labelColumns.length === 0 && !showLabels) return []
  const labels = labelsOf(object)
  const all = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    ...labelColumns.map(label => labels[label] ?? ''),
    ...(showLabels ? [all.map(([name, value]) => `${name}=${value}`).join(',') || '<none>'] : []),
  ]
}

function labelsOf(object: JsonObject | undefined): Readonly<Record<string, string>> {
  const metadata = object?.['metadata']
  const labels = isObject(metadata) ? metadata['labels'] : undefined
  return isObject(labels) ? (labels as Readonly<Record<string, string>>) : {}
}

/** Text up to the first line break. Escape characters are shown, so that no cell controls the terminal. */
function cellText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '<nil>'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const end = text.search(/[\f\n\r]/)
  const line = end === -1 ? text : `${text.slice(0, end)}...`
  return line.includes('\u001B') ? line.replaceAll('\u001B', '^[') : line
}
