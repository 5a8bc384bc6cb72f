import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import { itemsOf, valuesOf } from '#/api/custom-resources/subschemas.ts'
import { docComment } from './doc-comment.ts'
import { pascalCase, singularOf, stringLiteral, type TypeNames } from './names.ts'

export interface ObjectHeader {
  readonly comment: string
  readonly apiVersion: string
  readonly kind: string
}

/** Writes an interface for each object in a schema, outer ones first. */
export class TypeWriter {
  readonly #names: TypeNames
  #written = ''
  /** Interfaces found in those written so far. */
  readonly #waiting: (() => void)[] = []

  constructor(names: TypeNames) {
    this.#names = names
  }

  get text(): string {
    return this.#written
  }

  /** The interface of a kind. Its apiVersion, kind and metadata are known, whatever its schema says of them. */
  writeObject(name: string, schema: JSONSchemaProps, { comment, apiVersion, kind }: ObjectHeader): void {
    const typeMeta = [
      `  readonly apiVersion?: ${stringLiteral(apiVersion)}\n`,
      `  readonly kind?: ${stringLiteral(kind)}\n`,
      '  readonly metadata: k8ts.ObjectMeta\n',
    ]
    this.#writeInterface(name, schema, { comment, first: typeMeta })
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) next()
  }

  #writeInterface(
    name: string,
    schema: JSONSchemaProps,
    { comment, first }: { readonly comment: string; readonly first: readonly string[] },
  ): void {
    const required = new Set(schema.required)
    const known = first.length > 0 ? typeMetaFields : noFields
    const fields = Object.entries(schema.properties ?? {})
      .filter(([key]) => !known.has(key))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => {
        // The API server sets an absent field with a default before it checks that required fields are present.
        const isRequired = required.has(key) && field.default === undefined
        const type = this.#typeOf(field, name + pascalCase(key))
        const fieldName = /^[A-Za-z_$][\w$]*$/.test(key) ? key : stringLiteral(key)
        const declaration = `  readonly ${fieldName}${isRequired ? '' : '?'}: ${type}\n`
        return docComment(field.description ?? '', '  ') + declaration
      })
    const unknown = preservesUnknownFields(schema) ? ['  readonly [name: string]: unknown\n'] : []
    const body = [...first, ...fields, ...unknown].join('')
    this.#written += `\n${docComment(comment, '')}export interface ${name} {\n${body}}\n`
  }

  /** `name` is that of a new interface, if the schema needs one. */
  #typeOf(schema: JSONSchemaProps, name: string): string {
    const types = schema.enum?.length ? schema.enum.map(literalType) : [this.#plainType(schema, name)]
    if (types.includes('unknown')) return 'unknown'
    return [...new Set([...types, ...(schema.nullable ? ['null'] : [])])].join(' | ')
  }

  #plainType(schema: JSONSchemaProps, name: string): string {
    if (schema['x-kubernetes-embedded-resource']) return this.#interfaceType(name, schema, embeddedFields)
    if (schema['x-kubernetes-int-or-string']) return 'number | string'
    switch (schema.type) {
      case 'object':
        return this.#objectType(schema, name)
      case 'array':
        return this.#arrayType(schema, name)
      case 'integer':
        return schema.format === 'int64' ? 'number | bigint' : 'number'
      case 'number':
        return 'number'
      case 'boolean':
      case 'string':
        return schema.type
      case undefined:
      default:
        return 'unknown'
    }
  }

  #objectType(schema: JSONSchemaProps, name: string): string {
    const { properties = {}, additionalProperties } = schema
    if (Object.keys(properties).length > 0) return this.#interfaceType(name, schema, [])
    const values = valuesOf(schema)
    if (values !== undefined) return `Readonly<Record<string, ${this.#typeOf(values, `${name}Value`)}>>`
    const isOpen = additionalProperties === true || preservesUnknownFields(schema)
    return `Readonly<Record<string, ${isOpen ? 'unknown' : 'never'}>>`
  }

  #arrayType(schema: JSONSchemaProps, name: string): string {
    const items = itemsOf(schema)
    const type = items === undefined ? 'unknown' : this.#typeOf(items, singularOf(name))
    return `readonly ${type.includes(' ') ? `(${type})` : type}[]`
  }

  #interfaceType(wanted: string, schema: JSONSchemaProps, first: readonly string[]): string {
    const name = this.#names.reserve(wanted)
    const comment = schema.description ?? ''
    this.#waiting.push(() => this.#writeInterface(name, schema, { comment, first }))
    return name
  }
}

const typeMetaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])
const noFields: ReadonlySet<string> = new Set()

/** The API server requires the type of an embedded resource. */
const embeddedFields = [
  '  readonly apiVersion: string\n',
  '  readonly kind: string\n',
  '  readonly metadata?: k8ts.ObjectMeta\n',
]

function preservesUnknownFields(schema: JSONSchemaProps): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Objects and lists have no literal type. */
function literalType(value: unknown): string {
  if (typeof value === 'string') return stringLiteral(value)
  const isLiteral = value === null || typeof value === 'number' || typeof value === 'boolean'
  return isLiteral ? String(value) : 'unknown'
}
