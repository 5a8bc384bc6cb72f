/**
 * Defaulting of custom resources. A null is treated as absent unless its field is nullable: it is replaced by
 * the default, or dropped without one. Defaults are shared by all objects, which are immutable.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting
 */
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { itemsOf, valuesOf } from './subschemas.ts'
import { isObject, withChanges, type JsonObject } from '../text/json-object.ts'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'

/** Returns the object itself if nothing changes. */
export type Defaulting = (object: JsonObject) => JsonObject

export function compileDefaulting(root: JSONSchemaProps): Defaulting {
  const rule = ruleOf(root, 'resource')
  return object => applyTo(rule, object) as JsonObject
}

interface Rule {
  readonly properties: ReadonlyMap<string, Property>
  /** The properties with a default. */
  readonly defaults: readonly (readonly [string, JsonValue])[]
  readonly items: Rule | undefined
  /** The values of a map. */
  readonly values: Property | undefined
}

interface Property {
  readonly rule: Rule
  readonly isNullable: boolean
  readonly fallback: JsonValue | undefined
}

/** Type and metadata of a resource have no defaults. */
const fixedFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** Most fields of a schema are scalars, which share one rule. */
const scalarRule: Rule = { properties: new Map(), defaults: [], items: undefined, values: undefined }
const scalarProperty: Property = { rule: scalarRule, isNullable: false, fallback: undefined }

function ruleOf(schema: JSONSchemaProps, kind: 'resource' | 'value'): Rule {
  const isResource = kind === 'resource' || schema['x-kubernetes-embedded-resource'] === true
  const entries = Object.entries(schema.properties ?? {})
    .filter(([name]) => !(isResource && fixedFields.has(name)))
    .map(([name, property]) => [name, propertyOf(property)] as const)
  const items = itemsOf(schema)
  const values = valuesOf(schema)
  if (entries.length === 0 && items === undefined && values === undefined) return scalarRule
  return {
    properties: new Map(entries),
    defaults: entries.flatMap(([name, { fallback }]) => (fallback === undefined ? [] : [[name, fallback]])),
    items: items && ruleOf(items, 'value'),
    values: values && propertyOf(values),
  }
}

function propertyOf(schema: JSONSchemaProps): Property {
  const rule = ruleOf(schema, 'value')
  const { default: fallback } = schema as { readonly default?: JsonValue }
  const isNullable = schema.nullable === true
  if (rule === scalarRule && !isNullable && fallback === undefined) return scalarProperty
  return {
    rule,
    isNullable,
    fallback: fallback === undefined ? undefined : deepFreeze(applyTo(rule, fallback)),
  }
}

function applyTo(rule: Rule, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return rule.items ? applyToItems(rule.items, value) : value
  return isObject(value) ? applyToMembers(rule, value) : value
}

function applyToItems(rule: Rule, items: readonly JsonValue[]): JsonValue {
  let changed: JsonValue[] | undefined
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    const defaulted = applyTo(rule, item)
    if (defaulted !== item) (changed ??= [...items])[index] = defaulted
  }
  return changed ?? (items as JsonValue[])
}

function applyToMembers(rule: Rule, object: JsonObject): JsonObject {
  const { properties, defaults, values } = rule
  let changes: Map<string, JsonValue | undefined> | undefined
  if (properties.size > 0 || values) {
    for (const key in object) {
      const property = properties.get(key) ?? values
      if (property === undefined) continue
      const value = object[key] as JsonValue
      const defaulted = value === null ? nullOf(property) : applyTo(property.rule, value)
      if (defaulted !== value) (changes ??= new Map()).set(key, defaulted)
    }
  }
  for (const [name, fallback] of defaults) {
    if (!Object.hasOwn(object, name)) (changes ??= new Map()).set(name, fallback)
  }
  return changes === undefined ? object : withChanges(object, changes)
}

/** Undefined if the null is to be dropped. */
function nullOf({ isNullable, fallback }: Property): JsonValue | undefined {
  return isNullable ? null : fallback
}
