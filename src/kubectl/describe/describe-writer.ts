import type { TabWriter } from '../printers/tab-writer.ts'

/** A label with its value. An entry without a value is omitted. */
export type Entry = readonly [label: string, value: CellValue | undefined]

export type CellValue = string | number | bigint | boolean

/** Writes the lines of a description, indented by two spaces per level, with aligned values. */
export class DescribeWriter {
  readonly #out: Pick<TabWriter, 'write' | 'flush'>
  readonly #margin: string

  constructor(out: Pick<TabWriter, 'write' | 'flush'>, level = 0) {
    this.#out = out
    this.#margin = marginOf(level)
  }

  /** Escapes what would control a terminal. */
  write(level: number, text: string): void {
    const safe = text.replaceAll('\x1b', '^[').replaceAll('\r', '\\r')
    this.#out.write(this.#margin + marginOf(level) + safe)
  }

  fields(level: number, entries: readonly Entry[]): void {
    for (const [label, value] of entries) if (value !== undefined) this.write(level, `${label}:\t${value}\n`)
  }

  rows(level: number, rows: readonly (readonly CellValue[])[]): void {
    for (const row of rows) this.write(level, `${row.join('\t')}\n`)
  }

  /** The items below each other, beside the label. */
  list(level: number, label: string, items: readonly string[]): void {
    this.write(level, `${label}:\t`)
    const shown = items.length === 0 ? ['<none>'] : items
    for (const [index, item] of shown.entries()) {
      if (index > 0) this.write(level, '\t')
      this.write(0, `${item}\n`)
    }
  }

  /** A writer whose levels begin at `level`. */
  nested(level: number): DescribeWriter {
    return new DescribeWriter(this.#out, this.#margin.length / 2 + level)
  }

  /** Ends the alignment of the lines written so far. */
  flush(): void {
    this.#out.flush()
  }
}

function marginOf(level: number): string {
  return '  '.repeat(level)
}
