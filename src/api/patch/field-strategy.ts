import type { Schema } from '../schema.ts'

/** How one field merges: what is inside it, and what becomes of its list or struct as a whole. */
export interface FieldStrategy {
  readonly schema: Schema
  readonly list: ListStrategy
  /** A struct is replaced instead of merged. */
  readonly replace: boolean
  readonly retainKeys: boolean
}

export type ListStrategy = { readonly type: 'replace' | 'merge-scalars' } | ObjectListStrategy

/** Items with the same value of the merge key are one item. */
export interface ObjectListStrategy {
  readonly type: 'merge-objects'
  readonly mergeKey: string
  readonly items: Schema
}

/** Data without a schema: objects merge, lists are replaced, as in a JSON merge patch. */
export const anySchema: Schema = { type: 'any' }

/** What becomes of a member; a member that the schema does not know is data without a schema. */
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
