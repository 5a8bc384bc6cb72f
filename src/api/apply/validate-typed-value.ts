/**
 * Validates an applied configuration against its schema. The messages are Kubernetes', which print invalid
 * values in Go syntax.
 */
import type { JsonValue } from '../text/json-value.ts'
import { quote } from '../text/quote.ts'
import type { ListSchema, ScalarSchema, Schema } from '../schema.ts'
import { fieldElement, indexElement, printElement, type PathElement } from './path-element.ts'
import {
  asList,
  asMap,
  childSchema,
  depthMax,
  isDeclared,
  itemElement,
  tooDeep,
  type TypedValueProblem,
} from './structure.ts'

/** Maximum number of reported problems. */
const problemsMax = 100

export function validateTypedValue(schema: Schema, value: JsonValue): TypedValueProblem[] {
  const problems: TypedValueProblem[] = []
  visit({ schema, value, depth: 0, problems })
  return problems
}

interface Visit {
  readonly schema: Schema
  readonly value: JsonValue
  readonly depth: number
  readonly problems: TypedValueProblem[]
  /** The parent and the key or index; only the root has neither. */
  readonly parent?: Visit
  readonly element?: PathElement
}

function visit(here: Visit): void {
  const { schema, value, depth, problems } = here
  if (problems.length >= problemsMax) return
  if (depth > depthMax) {
    problems.push(tooDeep)
    return
  }
  if (value === null || value === undefined) return
  if (schema.type === 'struct' || schema.type === 'map') visitMap(here)
  else if (schema.type === 'list') visitList(here, schema)
  else if (schema.type === 'any') visitAny(here)
  else refuse(here, scalarProblem(schema, value))
}

function refuse(here: Visit, message: string | undefined): void {
  if (message !== undefined) here.problems.push({ path: pathOf(here), message })
}

function pathOf(here: Visit): string {
  let path = ''
  for (let each: Visit | undefined = here; each?.element !== undefined; each = each.parent) {
    path = printElement(each.element) + path
  }
  return path
}

function visitMap(here: Visit): void {
  const { schema, value, problems } = here
  const map = asMap(value)
  if (map === undefined) {
    refuse(here, `expected map, got &{${goText(value)}}`)
    return
  }
  const depth = here.depth + 1
  for (const key of Object.keys(map)) {
    const element = fieldElement(key)
    const child: Visit = {
      schema: childSchema(schema, key),
      value: map[key] ?? null,
      depth,
      problems,
      parent: here,
      element,
    }
    if (schema.type === 'struct' && !schema.preserveUnknownFields && !isDeclared(schema, key)) {
      refuse(child, 'field not declared in schema')
      return
    }
    visit(child)
  }
}

function visitList(here: Visit, schema: ListSchema): void {
  const { value, problems } = here
  const list = asList(value)
  if (list === undefined) {
    refuse(here, `expected list, got &{${goText(value)}}`)
    return
  }
  const depth = here.depth + 1
  const seen = new Set<PathElement>()
  for (const [index, item] of list.entries()) {
    const element = schema.listType === 'atomic' ? indexElement(index) : itemElement(schema, item)
    if (typeof element !== 'string') {
      refuse(here, `element ${index}: ${element.problem}`)
      return
    }
    if (seen.has(element)) refuse(here, `duplicate entries for key ${printElement(element)}`)
    seen.add(element)
    visit({ schema: schema.items, value: item, depth, problems, parent: here, element })
  }
}

/** Any value is valid up to the maximum depth. */
function visitAny(here: Visit): void {
  if (typeof here.value !== 'object' || here.value === null) return
  for (const child of Object.values(here.value)) visit({ ...here, value: child, depth: here.depth + 1 })
}

function scalarProblem(schema: ScalarSchema, value: JsonValue): string | undefined {
  const { type, format } = schema
  if (type === 'integer' || type === 'number') {
    if (typeof value === 'number' || typeof value === 'bigint') return undefined
    return `expected numeric (int or float), got ${goType(value)}`
  }
  if (type === 'boolean') {
    return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goText(value)}}`
  }
  if (type === 'string' && !hasOwnNotation(format)) {
    if (typeof value === 'string') return undefined
    return `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
  }
  return typeof value === 'object' ? `expected any scalar, got &{${goText(value)}}` : undefined
}

/** Formats such as `date-time`, for which scalars of other types are accepted. */
function hasOwnNotation(format: string | undefined): boolean {
  return format !== undefined && format !== '' && format !== 'byte'
}

function goType(value: JsonValue): string {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** Maximum number of levels and items of an invalid value printed in a message. */
const shownLevels = 4
const shownItems = 10

/** Formats like Go's `%v`: `map[a:1 b:[x y]]`. */
function goText(value: JsonValue, levels = shownLevels): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value !== 'object') return String(value)
  if (levels === 0) return '...'
  if (Array.isArray(value))
    return `[${shown(value)
      .map(each => goText(each, levels - 1))
      .join(' ')}]`
  const entries = shown(Object.entries(value).sort(byKey))
  return `map[${entries.map(([key, each]) => `${key}:${goText(each, levels - 1)}`).join(' ')}]`
}

/** Formats like Go's `%#v`: `map[string]interface {}{"a":1}`. */
function goSyntax(value: JsonValue, levels = shownLevels): string {
  if (value === null || value === undefined) return 'interface {}(nil)'
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object') return String(value)
  if (levels === 0) return '...'
  if (Array.isArray(value)) {
    return `[]interface {}{${shown(value)
      .map(each => goSyntax(each, levels - 1))
      .join(', ')}}`
  }
  const entries = shown(Object.entries(value).sort(byKey))
  const texts = entries.map(([key, each]) => `${quote(key)}:${goSyntax(each, levels - 1)}`)
  return `map[string]interface {}{${texts.join(', ')}}`
}

function shown<T>(items: readonly T[]): readonly T[] {
  return items.slice(0, shownItems)
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
