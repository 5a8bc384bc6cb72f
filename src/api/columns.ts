/** Table columns of a kind; kinds without their own columns have Name and Age. */
import { humanDuration } from './text/duration.ts'
import type { Resource } from './resource.ts'
import type { Column, KindColumns } from './table-columns.ts'
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

/** Time since creation in kubectl's format: `3h12m`. */
export function ageOf({ metadata }: Named, nowMs: number): string {
  return translateTimestampSince(metadata?.creationTimestamp, nowMs)
}

export function translateTimestampSince(time: string | undefined, nowMs: number): string {
  const thenMs = time ? momentOf(time) : undefined
  return thenMs === undefined ? '<unknown>' : humanDuration(nowMs - thenMs)
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
  cells: (object, nowMs) => [nameOf(object), ageOf(object, nowMs)],
}

export function columnsOf(resource: Resource): KindColumns {
  return (resource.columns as KindColumns | undefined) ?? plainColumns
}
