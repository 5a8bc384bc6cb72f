/** Where a table goes, and the widths of its columns in characters. */
export interface TabWriterOptions {
  /** Minimum width of a column, including its padding. */
  readonly minWidth: number
  /** Spaces after the widest cell of a column. */
  readonly padding: number
  /** Columns never get narrower from one flush to the next, as the rows of a watch need it. */
  readonly rememberWidths?: boolean
  readonly write: (text: string) => void
}

/** The options of kubectl's tables. Those of `describe` are `{ minWidth: 0, padding: 2 }`. */
export const tableWidths = { minWidth: 6, padding: 3, rememberWidths: true } as const

/**
 * Aligns text in columns with spaces. A tab ends a cell, and only an ended cell has a column: the text after the last
 * tab of a line is free. A column has one width over all consecutive lines with such a cell; a line
 * without it ends the column. Therefore, a line without tabs completes everything before it, which is written
 * at once. A form feed is a newline that ends all columns.
 */
export class TabWriter {
  readonly #options: TabWriterOptions
  /** Complete lines. The last text of each is not in a column. */
  #lines: Cells[] = []
  /** Ended cells of the line that is not complete. */
  #cells: string[] = []
  /** The text after the last tab. */
  #text = ''
  /** The largest width so far by column. */
  readonly #widthsMax: number[] = []

  constructor(options: TabWriterOptions) {
    this.#options = options
  }

  write(text: string): void {
    let start = 0
    for (const { 0: separator, index } of text.matchAll(/[\t\v\n\f]/g)) {
      this.#text += text.slice(start, index)
      start = index + 1
      this.#cells.push(this.#text)
      this.#text = ''
      if (separator === '\n' || separator === '\f') this.#endLine(separator === '\f')
    }
    this.#text += text.slice(start)
  }

  /** Writes everything, also a line that is not complete, and ends all columns. */
  flush(): void {
    if (this.#text !== '') this.#cells.push(this.#text)
    const rest = this.#cells
    const lines = rest.length > 0 ? [...this.#lines, rest] : this.#lines
    this.#lines = []
    this.#cells = []
    this.#text = ''
    const aligned = this.#align(lines)
    const text = rest.length > 0 ? aligned.slice(0, -1) : aligned
    if (text !== '') this.#options.write(text)
  }

  #endLine(endsColumns: boolean): void {
    const cells = this.#cells
    this.#lines.push(cells)
    this.#cells = []
    if (endsColumns || cells.length === 1) this.flush()
  }

  #align(lines: readonly Cells[]): string {
    const columns = this.#columnsOf(lines)
    let text = ''
    for (const [index, cells] of lines.entries()) {
      const ended = columns[index] ?? []
      for (const [position, cell] of cells.entries()) {
        const column = ended[position]
        text += column === undefined ? cell : cell + ' '.repeat(column.width - lengthOf(cell))
      }
      text += '\n'
    }
    return text
  }

  /** The columns of each line's ended cells. */
  #columnsOf(lines: readonly Cells[]): readonly (readonly Column[])[] {
    const current: Column[] = []
    const columns = lines.map(cells => {
      const ended = cells.slice(0, -1)
      this.#endColumns(current, ended.length)
      for (const [position, cell] of ended.entries()) {
        const column = (current[position] ??= { width: this.#options.minWidth })
        column.width = Math.max(column.width, lengthOf(cell) + this.#options.padding)
      }
      return [...current]
    })
    this.#endColumns(current, 0)
    return columns
  }

  /** Ends all but the first `count` columns. Their widths no longer change. */
  #endColumns(columns: Column[], count: number): void {
    if (this.#options.rememberWidths === true) {
      for (let position = count; position < columns.length; position++) {
        const column = columns[position]
        if (column === undefined) continue
        column.width = Math.max(column.width, this.#widthsMax[position] ?? 0)
        this.#widthsMax[position] = column.width
      }
    }
    if (count < columns.length) columns.length = count
  }
}

/** All but the last are ended. */
type Cells = readonly string[]

interface Column {
  width: number
}

/** Characters, not UTF-16 units. */
function lengthOf(cell: string): number {
  let length = cell.length
  for (let at = 0; at < cell.length - 1; at++) {
    if (cell.charCodeAt(at) >= 0xd8_00 && (cell.codePointAt(at) ?? 0) > 0xff_ff) length--
  }
  return length
}
