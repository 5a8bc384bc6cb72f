/** Constructors for table columns. */
import type { Column } from '../table-columns.ts'

export function textColumn(name: string, description: string): Column {
  return { name, type: 'string', format: '', description, priority: 0 }
}

export function integerColumn(name: string, description: string): Column {
  return { name, type: 'integer', format: '', description, priority: 0 }
}

export function booleanColumn(name: string, description: string): Column {
  return { name, type: 'boolean', format: '', description, priority: 0 }
}

/** A string column shown only with `-o wide`. */
export function wideColumn(name: string, description: string): Column {
  return { name, type: 'string', format: '', description, priority: 1 }
}

/** Columns of workload controllers shown only with `-o wide`. */
export const containersColumn = wideColumn('Containers', 'Names of each container in the template.')
export const imagesColumn = wideColumn('Images', 'Images referenced by each container in the template.')
export const selectorColumn = wideColumn('Selector', 'Label selector for pods.')
