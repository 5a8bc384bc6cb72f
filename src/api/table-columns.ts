/**
 * Table columns of a kind as `kubectl get` shows them, and the cells of an object. They
 * are in `kinds/<group>/group.ts`.
 */
import type { Age } from './age.ts'
import type { KubernetesObject } from './metadata.ts'
import type { JsonValue } from './text/json-value.ts'

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format: '' | 'name' | 'int32' | 'int64'
  readonly description: string
  /** 0 is always shown, 1 and above only with `-o wide`. */
  readonly priority: number
}

export interface KindColumns<T extends KubernetesObject = KubernetesObject> {
  readonly columns: readonly Column[]
  /** One cell per column. */
  readonly cells: (object: T) => readonly Cell[]
  /** Conditions of the table row, such as for completed pods. */
  readonly conditions?: (object: T) => readonly RowCondition[]
}

/** A JSON value or, where the cell depends on the time at which the table is printed, an age. */
export type Cell = JsonValue | Age

export interface RowCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** Table columns of the kinds in a group, by kind. */
export type GroupColumns = Readonly<Record<string, KindColumns<never>>>
