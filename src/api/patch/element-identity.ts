import type { JsonValue } from '../text/json-value.ts'
import { noMergeKeyError, notAnObjectError, notAScalarError } from './directives.ts'
import { get, identityOf, isObject, isScalar, type Scalar } from '../text/json-object.ts'

/** Identity of an item in a merged list of objects: the value of the merge key. */
export function objectIdentity(item: JsonValue, mergeKey: string): Scalar {
  if (!isObject(item)) throw notAnObjectError(item)
  const value = get(item, mergeKey) ?? undefined
  if (!isScalar(value)) throw noMergeKeyError(item, mergeKey)
  return identityOf(value)
}

/** Identity of an item in a merged list of scalars. */
export function scalarIdentity(item: JsonValue): Scalar {
  if (!isScalar(item)) throw notAScalarError(item)
  return identityOf(item)
}
