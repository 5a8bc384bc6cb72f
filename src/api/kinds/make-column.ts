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
export const containersColumn = wideColumn('Containers', 'Names of the containers of a pod.')
export const imagesColumn = wideColumn('Images', 'Images of the containers of a pod.')
export const selectorColumn = wideColumn('Selector', 'Labels of the pods that belong to it.')
