/**
 * How a kind looks in a table: the columns `kubectl get` shows, and the cells of one object. Each group's
 * folder in `kinds/` has a `columns.ts`. Cells are plain JSON values; what depends on the present moment, an
 * age, is asked of `now`.
 */
import type { KubernetesObject } from './metadata.ts'

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format: '' | 'name' | 'int32' | 'int64'
  readonly description: string
  /** 0 is shown always, 1 and above only with `-o wide`. */
  readonly priority: number
}

export interface KindColumns<T extends KubernetesObject = KubernetesObject> {
  readonly columns: readonly Column[]
  /** One cell for each column. */
  readonly cells: (object: T, nowMs: number) => readonly unknown[]
  /** Conditions of a table row, as completed pods have; none when absent. */
  readonly conditions?: (object: T) => readonly RowCondition[]
}

export interface RowCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** The columns of a group's kinds, by kind. */
export type GroupColumns = Readonly<Record<string, KindColumns<never>>>
