/**
 * The static types of expressions. They are plain values, written with the constants and functions below:
 * `listOf(stringType)`, `mapOf(stringType, dynType)`, `parameter('T')`. A type also carries the TypeScript
 * type of its run-time values (`Typed`), so that the implementation of an overload gets typed arguments.
 */
import type { ItemIdentity } from './item-identity.ts'
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

/** A type with run-time values `T`; the field exists only in the type system. */
export type Typed<T extends Value> = Type & { readonly values?: T }

/** `error` is the type of an expression with an error already reported; it is compatible with every type. */
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
  /** Undefined if items are identified by their position. */
  readonly identity?: ItemIdentity | undefined
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

/** A type parameter, the same type wherever the name occurs in an overload. */
export interface ParameterType {
  readonly kind: 'parameter'
  readonly name: string
}

export interface StructType {
  readonly kind: 'object'
  readonly type: ObjectType
}

/** An extension type without fields; its values are instances of subclasses of `OpaqueValue`. */
export interface OpaqueType {
  readonly kind: 'opaque'
  readonly name: string
}

/** A type with named fields, `Pod`. Types of the same name are identical. */
export interface ObjectType {
  readonly name: string
  /** The type of a field by its escaped name, `__namespace__`; undefined if there is no such field. */
  field(name: string): Type | undefined
  /** The JSON property of a field; the same name if absent. */
  property?(name: string): string
  /**
   * The field of a JSON property, or undefined if it is not visible to expressions; the same name if absent.
   */
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

/** Element types are not checked at run time: an implementation must check them itself. */
export function listOf(element: Type, identity?: ItemIdentity): Typed<ListValue> {
  return { kind: 'list', element, identity }
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

/** The type arguments: the element of a list, the key and value of a map. */
export function typeArguments(type: Type): readonly Type[] {
  if (type.kind === 'list') return [type.element]
  if (type.kind === 'map') return [type.key, type.value]
  if (type.kind === 'optional') return [type.value]
  return type.kind === 'type' ? [type.of] : []
}

/** The type with its type arguments mapped. */
export function mapTypeArguments(type: Type, change: (part: Type) => Type): Type {
  if (type.kind === 'list') return listOf(change(type.element))
  if (type.kind === 'map') return mapOf(change(type.key), change(type.value))
  if (type.kind === 'optional') return optionalOf(change(type.value))
  return type.kind === 'type' ? typeOfType(change(type.of)) : type
}

/** The type name in messages: `list(int)`, `map(string, dyn)`. */
export function showType(type: Type): string {
  const parts = typeArguments(type)
  const name = headOf(type)
  return parts.length === 0 ? name : `${name}(${parts.map(showType).join(', ')})`
}

function headOf(type: Type): string {
  if (type.kind === 'error') return '!error!'
  if (type.kind === 'optional') return 'optional_type'
  if (type.kind === 'object') return type.type.name
  return 'name' in type ? type.name : type.kind
}
