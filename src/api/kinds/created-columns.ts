/** Table columns of kinds without their own: the name, and the creation timestamp instead of an age. */
import { nameColumn, nameOf } from '../columns.ts'
import type { KindColumns } from '../table-columns.ts'
import { textColumn } from './make-column.ts'

export const createdColumns: KindColumns = {
  columns: [nameColumn, { ...textColumn('Created At', 'Creation timestamp.'), type: 'date' }],
  cells: object => [nameOf(object), object.metadata.creationTimestamp ?? noTime],
}

/** Go's zero time. */
const noTime = '0001-01-01T00:00:00Z'
