/** Table columns of a kind; kinds without their own columns have Name and Age. */
import { Age } from './age.ts'
import type { Resource } from './resource.ts'
import type { Cell, Column, KindColumns } from './table-columns.ts'
import { parseTime } from './text/time.ts'

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  priority: 0,
}

export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  format: '',
  description: 'Time since the object was created.',
  priority: 0,
}

/** The metadata fields used by the Name and Age columns. */
export interface Named {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string }
}

export function nameOf({ metadata }: Named): string {
  return metadata?.name ?? ''
}

/** Time since creation. */
export function ageOf({ metadata }: Named): Cell {
  return translateTimestampSince(metadata?.creationTimestamp)
}

export function translateTimestampSince(
  time: string | undefined,
  { prefix = '', suffix = '' } = {},
): Age | string {
  const sinceMs = time ? momentOf(time) : undefined
  return sinceMs === undefined ? `${prefix}<unknown>${suffix}` : new Age(sinceMs, { prefix, suffix })
}

/**
 * Timestamps written by the server always have this format, which `Date.parse` handles several times faster
 * than `parseTime`.
 */
function momentOf(time: string): number | undefined {
  const isUsual = time.length === 20 && time[4] === '-' && time[10] === 'T' && time[19] === 'Z'
  const moment = isUsual ? Date.parse(time) : Number.NaN
  return Number.isNaN(moment) ? parseTime(time) : moment
}

const plainColumns: KindColumns = {
  columns: [nameColumn, ageColumn],
  cells: object => [nameOf(object), ageOf(object)],
}

export function columnsOf(resource: Resource): KindColumns {
  return (resource.columns as KindColumns | undefined) ?? plainColumns
}
