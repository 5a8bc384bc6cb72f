import type { TableCell, TableColumn, TableRow } from '../data/table-format.ts'

export interface SortOrder {
  /** Name of a column. */
  readonly column: string
  readonly descending: boolean
}

/** `Age` ascending, `-Age` descending. */
export function parseSortOrder(text: string | undefined): SortOrder | undefined {
  if (!text) return undefined
  return text.startsWith('-')
    ? { column: text.slice(1), descending: true }
    : { column: text, descending: false }
}

/** The order after a click on a column: ascending, descending, none. */
export function nextSortOrder(column: string, current: SortOrder | undefined): string {
  if (current?.column !== column) return column
  return current.descending ? '' : `-${column}`
}

export interface RowFilter {
  /** Words; a row must contain all. A word that begins with `!` must not be contained. */
  readonly filter: string
  readonly order: SortOrder | undefined
}

/** The rows that a list shows, by namespace and name unless another order is wanted. */
export function filterAndSort(
  rows: Iterable<TableRow>,
  columns: readonly TableColumn[],
  { filter, order }: RowFilter,
): TableRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = words.length === 0 ? [...rows] : [...rows].filter(row => matches(row, words))
  const index = order === undefined ? -1 : columns.findIndex(({ name }) => name === order.column)
  const byNamespace = order?.column === 'Namespace'
  const isAge = order?.column === 'Age'
  const keyed = shown.map(row => ({
    row,
    key: byNamespace
      ? (row.object.metadata.namespace ?? '')
      : isAge
        ? ageKey(row)
        : sortKey(row.cells[index]),
    name: `${row.object.metadata.namespace ?? ''}/${row.object.metadata.name ?? ''}`,
  }))
  const sign = order?.descending ? -1 : 1
  keyed.sort((left, right) => {
    const byKey = order === undefined ? 0 : compare(left.key, right.key) * sign
    return byKey !== 0 ? byKey : compare(left.name, right.name)
  })
  return keyed.map(({ row }) => row)
}

/** The youngest has the lowest age. */
function ageKey({ object }: TableRow): number {
  return -Date.parse(object.metadata.creationTimestamp ?? '') || 0
}

const durationUnits: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, y: 31_536_000 }

/** Numbers, fractions, percentages and durations sort by value, the rest as text without case. */
function sortKey(cell: TableCell | undefined): number | string {
  if (typeof cell === 'number') return cell
  const text = String(cell ?? '').toLowerCase()
  if (/^(?:\d+[smhdy])+$/.test(text)) {
    return [...text.matchAll(/(\d+)([smhdy])/g)].reduce((sum, [, count, unit]) => {
      return sum + Number(count) * (durationUnits[unit ?? ''] ?? 0)
    }, 0)
  }
  const fraction = /^(\d+)\/(\d+)$/.exec(text)
  if (fraction) return Number(fraction[1]) + Number(fraction[2]) / 1e6
  const number = /^-?\d+(?:\.\d+)?(?=$|%| \()/.exec(text)
  return number ? Number(number[0]) : text
}

/** Numbers come before texts. */
function compare(left: number | string, right: number | string): number {
  if (typeof left !== typeof right) return typeof left === 'number' ? -1 : 1
  return left < right ? -1 : left > right ? 1 : 0
}

function matches({ cells, object }: TableRow, words: readonly string[]): boolean {
  const { namespace = '', labels } = object.metadata
  let text = `${namespace} ${cells.join(' ')}`
  for (const name in labels) text += ` ${name}=${labels[name]}`
  text = text.toLowerCase()
  return words.every(word => {
    return word.startsWith('!') && word !== '!' ? !text.includes(word.slice(1)) : text.includes(word)
  })
}
