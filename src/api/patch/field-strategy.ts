import type { Schema } from '../schema.ts'

/** How a field is merged: the schema of its contents, and the strategy for its list or struct. */
export interface FieldStrategy {
  readonly schema: Schema
  readonly list: ListStrategy
  /** The struct is replaced instead of merged. */
  readonly replace: boolean
  readonly retainKeys: boolean
}

export type ListStrategy = { readonly type: 'replace' | 'merge-scalars' } | ObjectListStrategy

/** Items with the same value of the merge key are merged. */
export interface ObjectListStrategy {
  readonly type: 'merge-objects'
  readonly mergeKey: string
  readonly items: Schema
}

/** For data without a schema: objects are merged and lists replaced, as in a JSON merge patch. */
export const anySchema: Schema = { type: 'any' }

/** A member that is not in the schema is treated as data without a schema. */
export function fieldStrategy(schema: Schema, key: string): FieldStrategy {
  if (schema.type === 'map') return plainStrategy(schema.values)
  const field = schema.type === 'struct' ? schema.fields.get(key) : undefined
  if (field?.patch === undefined) return plainStrategy(field?.schema ?? anySchema)
  const { merge, replace, retainKeys, mergeKey } = field.patch
  return { schema: field.schema, list: listStrategy(field.schema, merge, mergeKey), replace, retainKeys }
}

function plainStrategy(schema: Schema): FieldStrategy {
  return { schema, list: { type: 'replace' }, replace: false, retainKeys: false }
}

function listStrategy(schema: Schema, merge: boolean, mergeKey: string | undefined): ListStrategy {
  if (!merge) return { type: 'replace' }
  if (mergeKey === undefined) return { type: 'merge-scalars' }
  return { type: 'merge-objects', mergeKey, items: schema.type === 'list' ? schema.items : anySchema }
}
