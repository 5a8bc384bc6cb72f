/** `kubectl explain` from an OpenAPI document of version 3. */
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import {
  findSchema,
  kindsIn,
  readSchema,
  resolveReference,
  type OpenApiSchema,
  type SchemaKind,
} from './open-api-schema.ts'
import { indentText, wrapText } from './wrap-text.ts'

export interface ExplainedResource {
  readonly group: string
  readonly version: string
  readonly plural: string
}

/** The kind of a resource, as the paths of the document tell it. */
export function kindOfResource(document: JsonObject, resource: ExplainedResource): SchemaKind | undefined {
  const { group, version, plural } = resource
  const root = `${group === '' ? '/api' : `/apis/${group}`}/${version}`
  const collections = [`${root}/${plural}`, `${root}/namespaces/{namespace}/${plural}`]
  const { paths } = document
  for (const path of collections.flatMap(each => [each, `${each}/{name}`])) {
    const operations = isObject(paths) ? paths[path] : undefined
    for (const method of ['get', 'post', 'put', 'patch', 'delete']) {
      const operation = isObject(operations) ? operations[method] : undefined
      const [kind] = isObject(operation) ? kindsIn(operation) : []
      if (kind !== undefined) return kind
    }
  }
  return undefined
}

/** The lines before the description. */
export function describeKind({ group, kind, version }: SchemaKind): string {
  return `${group === '' ? '' : `GROUP:      ${group}\n`}KIND:       ${kind}\nVERSION:    ${version}\n\n`
}

export interface SchemaPath {
  readonly kind: SchemaKind
  readonly fields: readonly string[]
  readonly recursive: boolean
}

/** The description of a kind or a field. Undefined for an unknown field. Throws Error for an unknown kind. */
export function describeSchema(
  document: JsonObject,
  { kind, fields, recursive }: SchemaPath,
): string | undefined {
  const { components } = document
  const schema = findSchema(isObject(components) ? components['schemas'] : undefined, kind)
  if (schema === undefined) {
    const { group, version, kind: name } = kind
    throw new Error(
      `error: GVK map[group:${group} kind:${name} version:${version}] not found in OpenAPI schema`,
    )
  }
  return new SchemaText(document, recursive).field({ schema, fields, history: new Set() })
}

/** Depth of schemas that contain each other without a field between them, such as lists of lists. */
const depthMax = 100

interface Traversal {
  readonly schema: JsonObject
  readonly fields: readonly string[]
  /** References on the way from the last field, to detect cycles. */
  readonly history: ReadonlySet<string>
}

interface FieldListOptions {
  readonly schema: JsonObject
  readonly level: number
  readonly history: ReadonlySet<string>
}

class SchemaText {
  readonly #document: JsonObject
  readonly #recursive: boolean

  constructor(document: JsonObject, recursive: boolean) {
    this.#document = document
    this.#recursive = recursive
  }

  /** Follows the names of fields through lists, maps and references. */
  field({ schema, fields, history }: Traversal): string | undefined {
    const [name, ...rest] = fields
    if (name === undefined) return this.#details(schema)
    const { ref } = readSchema(schema)
    const resolved = this.#resolve(schema)
    if ((ref !== '' && history.has(ref)) || history.size > depthMax) return undefined
    const found = resolved.properties.get(name)
    if (found !== undefined) {
      const head = rest.length === 0 ? `FIELD: ${name} <${this.#type(found)}>\n${longEnum(found)}\n\n` : ''
      const below = this.field({ schema: found, fields: rest, history: new Set() })
      return below === undefined ? undefined : head + below
    }
    const next = new Set([...history, ref === '' ? `#${history.size}` : ref])
    const { items, additionalProperties, allOf } = resolved
    const inner = items ?? additionalProperties
    if (inner !== undefined) return this.field({ schema: inner, fields, history: next })
    for (const each of allOf) {
      const text = this.field({ schema: each, fields, history: next })
      if (text !== undefined) return text
    }
    return undefined
  }

  #details(schema: JsonObject): string {
    const description = this.#descriptions(schema, 0) || '<empty>'
    const { externalDocs } = this.#resolve(schema)
    const docs = externalDocs === undefined ? '' : `\n${describeExternalDocs(externalDocs, 0)}`
    const list = this.#fieldList({ schema, level: 1, history: new Set() })
    const text = indentText(wrapText(description, 76), 4)
    return `DESCRIPTION:\n${text}\n${docs}${list === '' ? '' : `FIELDS:\n${list}`}`
  }

  /** Of the schema and of those that it consists of. */
  #descriptions(schema: JsonObject, depth: number): string {
    if (depth > depthMax) return ''
    const { description, allOf, items, additionalProperties } = this.#resolve(schema)
    const parts = [
      ...allOf,
      ...(items ? [items] : []),
      ...(additionalProperties ? [additionalProperties] : []),
    ]
    const own = description === '' ? '' : `${description}\n`
    return own + parts.map(part => this.#descriptions(part, depth + 1)).join('')
  }

  #fieldList({ schema, level, history }: FieldListOptions): string {
    const { ref } = readSchema(schema)
    if ((ref !== '' && history.has(ref)) || history.size > depthMax) return ''
    const next = new Set([...history, ref === '' ? `#${history.size}` : ref])
    const resolved = this.#resolve(schema)
    let text = ''
    for (const [name, field] of resolved.properties) {
      text += this.#fieldLines({ name, field, level, isRequired: resolved.required.includes(name) })
      if (this.#recursive) text += this.#fieldList({ schema: field, level: level + 1, history: next })
    }
    const { allOf, items, additionalProperties } = resolved
    const parts = [
      ...allOf,
      ...(items ? [items] : []),
      ...(additionalProperties ? [additionalProperties] : []),
    ]
    return text + parts.map(part => this.#fieldList({ schema: part, level, history: next })).join('')
  }

  #fieldLines({ name, field, level, isRequired }: FieldLinesOptions): string {
    const indent = level * 2
    const margin = ' '.repeat(indent)
    const required = isRequired ? ' -required-' : ''
    const head = `${margin}${name}\t<${this.#type(field)}>${required}${shortEnum(field, indent)}\n`
    if (this.#recursive) return head
    const { description, externalDocs } = readSchema(field)
    const text = indentText(wrapText(description || '<no description>', 78 - indent), indent + 2)
    const docs = externalDocs === undefined ? '' : `\n${describeExternalDocs(externalDocs, indent + 2)}`
    return `${head}${text}\n${docs}\n`
  }

  /** `string`, `[]Container`, `map[string]Quantity`. */
  #type(schema: JsonObject, depth = 0): string {
    if (depth > depthMax) return 'Object'
    const { items, additionalProperties, allOf, properties, ref, type } = readSchema(schema)
    if (items !== undefined) return `[]${this.#type(items, depth + 1)}`
    if (additionalProperties !== undefined) return `map[string]${this.#type(additionalProperties, depth + 1)}`
    const [only] = allOf
    if (only !== undefined && allOf.length === 1 && properties.size === 0) return this.#type(only, depth + 1)
    if (ref === '') return type === '' || type === 'object' ? 'Object' : type
    const referenced = resolveReference(this.#document, ref)
    const referencedType = referenced === undefined ? '' : readSchema(referenced).type
    if (referencedType !== '' && referencedType !== 'object') return referencedType
    return (
      ref
        .slice(ref.lastIndexOf('/') + 1)
        .split('.')
        .at(-1) || 'Object'
    )
  }

  #resolve(schema: JsonObject): OpenApiSchema {
    const own = readSchema(schema)
    const referenced = own.ref === '' ? undefined : resolveReference(this.#document, own.ref)
    return referenced === undefined ? own : readSchema(referenced)
  }
}

interface FieldLinesOptions {
  readonly name: string
  readonly field: JsonObject
  readonly level: number
  readonly isRequired: boolean
}

function describeExternalDocs({ description, url }: JsonObject, indent: number): string {
  const inner = indent + 4 - (indent === 0 ? 0 : 2)
  const text =
    typeof description === 'string' ? `${indentText(wrapText(description, 78 - inner + 2), inner)}\n` : ''
  const link = typeof url === 'string' ? `${' '.repeat(inner)}URL: ${url}\n` : ''
  return `${' '.repeat(indent)}EXTERNAL DOCS:\n${text}${link}`
}

/** All values, below each other. */
function longEnum(schema: JsonObject): string {
  const { enum: values } = readSchema(schema)
  return values.length === 0 ? '' : `ENUM:${values.map(value => `\n    ${enumText(value)}`).join('')}`
}

/** Values shown in lists of fields. */
const shortEnumMax = 4

function shortEnum(schema: JsonObject, indent: number): string {
  const { enum: values } = readSchema(schema)
  if (values.length === 0) return ''
  const shown = values.slice(0, shortEnumMax).map(enumText).join(', ')
  return `\n${' '.repeat(indent)}enum: ${shown}${values.length > shortEnumMax ? ', ....' : ''}`
}

function enumText(value: JsonValue): string {
  if (value === '') return '""'
  return typeof value === 'string' ? value : stringifyJson(value)
}
