import type { JSX } from 'preact'
import { Age } from '../components/age.tsx'
import type { GridColumn } from '../components/grid.tsx'
import { StatusText } from '../components/status-text.tsx'
import type { ApiResource } from '../data/api-resource.ts'
import type { TableCell, TableColumn, TableRow } from '../data/table-format.ts'
import { toneOfCell } from '../format/tone.ts'
import { hrefOfObject } from '../router/router.ts'

export interface ColumnChoice {
  readonly resource: ApiResource
  /** Lists over all namespaces show the namespace of each row. */
  readonly hasNamespace: boolean
  /** With the columns that `kubectl get -o wide` adds. */
  readonly isWide: boolean
  /** Puts the state after the name, and the namespace last. */
  readonly isNarrow: boolean
  /** Characters that each cell needs. */
  readonly widths: readonly number[]
}

/** The columns of the API server as columns of a grid. */
export function gridColumns(columns: readonly TableColumn[], choice: ColumnChoice): GridColumn<TableRow>[] {
  const { resource, hasNamespace, isWide, isNarrow, widths } = choice
  const shown = columns.flatMap((column, index): GridColumn<TableRow>[] => {
    if (column.priority > 0 && !isWide) return []
    const width = Math.max(column.name.length, (widths[index] ?? 0) + 1)
    const isNumber = column.type === 'integer' || column.type === 'number'
    return [
      {
        title: column.name,
        width: Math.min(width, isNarrow && index === 0 ? narrowNameWidth : widthMax),
        grows: index === 0,
        isNumber,
        description: column.description,
        cell: row => cellContent(row, { column, index, resource, isReachable: false }),
      },
    ]
  })
  if (!isNarrow) return hasNamespace ? [namespaceColumn, ...shown] : shown
  const states = shown.filter(
    ({ title }, index) => index > 0 && /^(?:status|phase|state|available)$/i.test(title),
  )
  const others = shown.slice(1).filter(column => !states.includes(column))
  return [...shown.slice(0, 1), ...states, ...others, ...(hasNamespace ? [namespaceColumn] : [])]
}

const widthMax = 60
const narrowNameWidth = 16
const namespaceColumn: GridColumn<TableRow> = {
  title: 'Namespace',
  width: 16,
  cell: ({ object }) => object.metadata.namespace ?? '',
}

interface CellPlace {
  readonly column: TableColumn
  readonly index: number
  readonly resource: ApiResource
  /** True if the link is reached with Tab; in a grid, the keys of the grid open it. */
  readonly isReachable: boolean
}

export function cellContent(
  { cells, object }: TableRow,
  { column, index, resource, isReachable }: CellPlace,
): JSX.Element {
  const { name = '', namespace = '', creationTimestamp } = object.metadata
  const text = textOfCell(cells[index])
  if (column.name === 'Name' && index === 0) {
    return (
      <a href={hrefOfObject(resource, { namespace, name })} title={text} tabIndex={isReachable ? 0 : -1}>
        {text}
      </a>
    )
  }
  if (column.name === 'Age') return <Age time={creationTimestamp} />
  if (column.type === 'date') return <Age time={text} />
  // The containers of a completed pod are not ready, and should not be.
  const isCompleted = column.name === 'Ready' && cells.includes('Completed')
  return <StatusText tone={isCompleted ? 'idle' : toneOfCell(column.name, text)} text={text} />
}

function textOfCell(cell: TableCell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell)
}

/** Characters of the longest cell of each column. */
export function cellWidths(rows: Iterable<TableRow>): number[] {
  const widths: number[] = []
  for (const { cells } of rows) {
    for (let index = 0; index < cells.length; index++) {
      const { length } = textOfCell(cells[index])
      if (length > (widths[index] ?? 0)) widths[index] = length
    }
  }
  return widths
}
