/**
 * Partial API objects built by expressions, for apply configurations: `Object{spec: Object.spec{replicas:
 * 3}}`. A type name is the path of the field. Field names are not checked at compile time.
 */
import type { ConstructedType, Library } from './function.ts'
import { dynType, objectOf, type ObjectType, type Type } from './type.ts'
import { ListValue, MapValue, object, ObjectValue, type Value } from './value.ts'

export const constructedObjectType: Type = objectOf(typeNamed('Object'))

export const objectConstructorLibrary: Library = {
  constructors: {
    find: (name): ConstructedType | undefined => {
      if (name !== 'Object' && !name.startsWith('Object.')) return undefined
      const type = typeNamed(name)
      return { type, construct: fields => object(type, fields) }
    },
  },
}

function typeNamed(name: string): ObjectType {
  return { name, field: () => dynType }
}

/** Maximum characters and elements of a value: more than a request may have, but fast to traverse. */
const sizeMax = 8 * 1024 * 1024
const depthMax = 500

/**
 * Validates a value built by an expression. The name of each type in it must be its path, and its size is
 * limited, because an expression can repeat a part exponentially at little cost.
 */
export function checkConstructed(value: Value): string[] {
  const walk: Walk = { errors: [], size: 0 }
  visit(walk, value, { path: value instanceof ObjectValue ? value.type.name : '', depth: 0 })
  if (walk.size <= sizeMax) return walk.errors
  return [`the value is larger than ${sizeMax} characters, or deeper than ${depthMax} levels`]
}

interface Walk {
  readonly errors: string[]
  /** The walk stops once this exceeds the limit. */
  size: number
}

interface Place {
  readonly path: string
  readonly depth: number
}

function visit(walk: Walk, value: Value, { path, depth }: Place): void {
  walk.size += depth > depthMax ? sizeMax + 1 : 1 + (typeof value === 'string' ? value.length : 0)
  if (walk.size > sizeMax) return
  const below = { path, depth: depth + 1 }
  if (value instanceof ListValue) {
    for (const item of value) visit(walk, item, below)
  } else if (value instanceof MapValue) {
    for (const key of value.keys()) visit(walk, value.get(key) ?? null, below)
  } else if (value instanceof ObjectValue && isConstructed(value.type.name)) {
    const { name } = value.type
    if (name !== path) walk.errors.push(misplaced(name, path))
    for (const field of value.names())
      visit(walk, value.field(field) ?? null, { path: `${path}.${field}`, depth: depth + 1 })
  }
}

function misplaced(name: string, path: string): string {
  return (
    `unexpected type name ${JSON.stringify(name)}, expected ${JSON.stringify(path)}, ` +
    'which matches field name path from root Object type'
  )
}

function isConstructed(name: string): boolean {
  return name === 'Object' || name.startsWith('Object.')
}
