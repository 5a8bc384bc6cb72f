import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
  nullType,
  stringType,
  type Type,
  uintType,
} from '../type.ts'
import { Uint, type Value } from '../value.ts'

/** The type of a literal. */
export function literalType(value: Value): Type {
  if (value === null) return nullType
  if (typeof value === 'boolean') return boolType
  if (typeof value === 'bigint') return intType
  if (typeof value === 'number') return doubleType
  if (typeof value === 'string') return stringType
  if (value instanceof Uint) return uintType
  return value instanceof Uint8Array ? bytesType : dynType
}
