/**
 * The types that expressions are checked against before they run. They are plain values, written with the
 * constants and functions below: `listOf(stringType)`, `mapOf(stringType, dynType)`, `parameter('T')`.
 * A type carries the TypeScript type of its run-time values as well (`Typed`), so that an overload's
 * implementation gets its arguments as what they are.
 */
import type {
  Duration,
  ListValue,
  MapValue,
  ObjectValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  Value,
} from './value.ts'

export type Type =
  | SimpleType
  | ListType
  | MapType
  | OptionalType
  | TypeType
  | ParameterType
  | StructType
  | OpaqueType

/** A type whose run-time values are `T`; the field is never there. */
export type Typed<T extends Value> = Type & { readonly values?: T }

/** `error` is the type of an expression in which a fault was found already: it fits everywhere. */
export interface SimpleType {
  readonly kind:
    | 'dyn'
    | 'error'
    | 'null'
    | 'bool'
    | 'int'
    | 'uint'
    | 'double'
    | 'string'
    | 'bytes'
    | 'timestamp'
    | 'duration'
}

export interface ListType {
  readonly kind: 'list'
  readonly element: Type
}

export interface MapType {
  readonly kind: 'map'
  readonly key: Type
  readonly value: Type
}

export interface OptionalType {
  readonly kind: 'optional'
  readonly value: Type
}

/** The type of a type: `type(1)` is of type `type(int)`. */
export interface TypeType {
  readonly kind: 'type'
  readonly of: Type
}

/** Stands for one type, the same wherever the name occurs in an overload. */
export interface ParameterType {
  readonly kind: 'parameter'
  readonly name: string
}

export interface StructType {
  readonly kind: 'object'
  readonly type: ObjectType
}

/** A type of an extension that has no fields: its values are instances of subclasses of `OpaqueValue`. */
export interface OpaqueType {
  readonly kind: 'opaque'
  readonly name: string
}

/** A type with named fields, `Pod`. Two with one name are one type. */
export interface ObjectType {
  readonly name: string
  /** The type of a field as expressions name it, `__namespace__`; undefined when there is no such field. */
  field(name: string): Type | undefined
  /** The JSON property that a field stands for, when that is not the name itself. */
  property?(name: string): string
  /** The field that a JSON property is shown as, or undefined when expressions cannot see it; itself when absent. */
  fieldOf?(property: string): string | undefined
}

export const dynType: Typed<Value> = { kind: 'dyn' }
export const errorType: Type = { kind: 'error' }
export const nullType: Typed<null> = { kind: 'null' }
export const boolType: Typed<boolean> = { kind: 'bool' }
export const intType: Typed<bigint> = { kind: 'int' }
export const uintType: Typed<Uint> = { kind: 'uint' }
export const doubleType: Typed<number> = { kind: 'double' }
export const stringType: Typed<string> = { kind: 'string' }
export const bytesType: Typed<Uint8Array> = { kind: 'bytes' }
export const timestampType: Typed<Timestamp> = { kind: 'timestamp' }
export const durationType: Typed<Duration> = { kind: 'duration' }

/** The run-time check is of the list alone: what its elements are, an implementation must see for itself. */
export function listOf(element: Type): Typed<ListValue> {
  return { kind: 'list', element }
}

export function mapOf(key: Type, value: Type): Typed<MapValue> {
  return { kind: 'map', key, value }
}

export function optionalOf(value: Type): Typed<Optional> {
  return { kind: 'optional', value }
}

export function typeOfType(of: Type): Typed<TypeValue> {
  return { kind: 'type', of }
}

export function parameter(name: string): Typed<Value> {
  return { kind: 'parameter', name }
}

export function objectOf(type: ObjectType): Typed<ObjectValue> {
  return { kind: 'object', type }
}

/** `opaque<Quantity>('kubernetes.Quantity')`, where `Quantity` is the class of its values. */
export function opaque<T extends OpaqueValue>(name: string): Typed<T> {
  return { kind: 'opaque', name }
}

/** The types inside a type: the element of a list, the key and the value of a map. */
export function partsOf(type: Type): readonly Type[] {
  if (type.kind === 'list') return [type.element]
  if (type.kind === 'map') return [type.key, type.value]
  if (type.kind === 'optional') return [type.value]
  return type.kind === 'type' ? [type.of] : []
}

/** The type with others inside it. */
export function withParts(type: Type, change: (part: Type) => Type): Type {
  if (type.kind === 'list') return listOf(change(type.element))
  if (type.kind === 'map') return mapOf(change(type.key), change(type.value))
  if (type.kind === 'optional') return optionalOf(change(type.value))
  return type.kind === 'type' ? typeOfType(change(type.of)) : type
}

/** The name as messages show it: `list(int)`, `map(string, dyn)`. */
export function showType(type: Type): string {
  const parts = partsOf(type)
  const name = headOf(type)
  return parts.length === 0 ? name : `${name}(${parts.map(showType).join(', ')})`
}

function headOf(type: Type): string {
  if (type.kind === 'error') return '!error!'
  if (type.kind === 'optional') return 'optional_type'
  if (type.kind === 'object') return type.type.name
  return 'name' in type ? type.name : type.kind
}
