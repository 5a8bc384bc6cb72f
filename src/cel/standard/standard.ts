/** The declarations available in every expression: standard functions, strings, optionals and macros. */
import type { Library } from '../function.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  stringType,
  timestampType,
  typeOfType,
  uintType,
} from '../type.ts'
import { arithmetic } from './arithmetic.ts'
import { collections } from './collections.ts'
import { comparison } from './comparison.ts'
import { conversions } from './conversions.ts'
import { standardMacros } from './macros.ts'
import { optionals } from './optionals.ts'
import { strings } from './strings.ts'
import { times } from './times.ts'

export const standardLibrary: Library = {
  overloads: [
    ...arithmetic,
    ...comparison,
    ...collections,
    ...conversions,
    ...strings,
    ...times,
    ...optionals,
  ],
  macros: standardMacros,
  types: [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    listOf(dynType),
    mapOf(dynType, dynType),
    nullType,
    optionalOf(dynType),
    stringType,
    timestampType,
    typeOfType(dynType),
    uintType,
  ],
}
