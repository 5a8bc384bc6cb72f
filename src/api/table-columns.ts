/**
 * Table columns of a kind as `kubectl get` shows them, and the cells of an object. They
 * are in `kinds/<group>/group.ts`. Cells are plain JSON values; ages are computed from `nowMs`.
 */
import type { KubernetesObject } from './metadata.ts'

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
  readonly cells: (object: T, nowMs: number) => readonly unknown[]
  /** Conditions of the table row, such as for completed pods. */
  readonly conditions?: (object: T) => readonly RowCondition[]
}

export interface RowCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** Table columns of the kinds in a group, by kind. */
export type GroupColumns = Readonly<Record<string, KindColumns<never>>>
