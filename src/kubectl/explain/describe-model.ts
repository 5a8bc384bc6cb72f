/** `kubectl explain --output=plaintext-openapiv2`, from an OpenAPI document of version 2. */
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import {
  findSchema,
  readSchema,
  resolveReference,
  type OpenApiSchema,
  type SchemaKind,
} from './open-api-schema.ts'
import type { SchemaPath } from './describe-schema.ts'
import { wrapParagraphs } from './wrap-text.ts'

/** Throws Error for an unknown kind or field. */
export function describeModel(document: JsonObject, { kind, fields, recursive }: SchemaPath): string {
  const schema = findSchema(document['definitions'], kind)
  if (schema === undefined) {
    const version = `${kind.group}/${kind.version}`
    throw new Error(`couldn't find resource for ${quote(`${version}, Kind=${kind.kind}`)}`)
  }
  const model = new Model(document)
  const found = model.find(schema, fields)
  return describe(model, { schema: found, kind, name: fields.at(-1) ?? '', recursive })
}

/** Depth of schemas that contain each other. */
const depthMax = 100

const lineWidth = 80

type ModelType = 'reference' | 'struct' | 'map' | 'array' | 'primitive' | 'arbitrary'

class Model {
  readonly #document: JsonObject

  constructor(document: JsonObject) {
    this.#document = document
  }

  /** Follows the names of fields through lists, maps and references. Fields of primitive values are ignored. */
  find(schema: JsonObject, fields: readonly string[]): JsonObject {
    let current = schema
    const pending = [...fields]
    for (let depth = 0; pending.length > 0 && depth < depthMax; depth++) {
      const own = readSchema(current)
      const type = typeOf(own)
      if (type === 'primitive' || type === 'arbitrary') return current
      if (type === 'struct') {
        const name = pending.shift()!
        const field = own.properties.get(name)
        if (field === undefined) throw new Error(`field ${quote(name)} does not exist`)
        current = field
      } else current = this.inner(current)
    }
    return current
  }

  /** What a list, map or reference consists of. */
  inner(schema: JsonObject): JsonObject {
    const { ref, items, additionalProperties } = readSchema(schema)
    return (ref === '' ? (items ?? additionalProperties) : resolveReference(this.#document, ref)) ?? {}
  }

  typeName(schema: JsonObject, depth = 0): string {
    if (depth > depthMax) return ''
    const own = readSchema(schema)
    const inner = (): string => this.typeName(this.inner(schema), depth + 1)
    switch (typeOf(own)) {
      case 'reference':
        return inner()
      case 'array':
        return `[]${inner()}`
      case 'map':
        return `map[string]${inner()}`
      case 'struct':
        return 'Object'
      case 'primitive':
        return own.type
      case 'arbitrary':
        return ''
    }
  }

  fieldLines(schema: JsonObject, indent: number): string {
    const own = readSchema(this.#structOf(schema))
    let text = ''
    for (const [name, field] of own.properties) {
      const required = own.required.includes(name) ? ' -required-' : ''
      text += `${' '.repeat(indent)}${name}\t<${this.typeName(field)}>${required}\n`
      text += `${wrapped(readSchema(field).description, indent + 2)}\n`
    }
    return text
  }

  recursiveLines(schema: JsonObject, { indent, visited }: RecursiveOptions): string {
    const { ref, properties } = readSchema(schema)
    const type = typeOf(readSchema(schema))
    if (type === 'primitive' || type === 'arbitrary' || indent > depthMax * 3) return ''
    if (type !== 'struct') {
      if (ref !== '' && visited.has(ref)) return ''
      const next = ref === '' ? visited : new Set([...visited, ref])
      return this.recursiveLines(this.inner(schema), { indent, visited: next })
    }
    let text = ''
    for (const [name, field] of properties) {
      text += `${' '.repeat(indent)}${name}\t<${this.typeName(field)}>\n`
      text += this.recursiveLines(field, { indent: indent + 3, visited })
    }
    return text
  }

  /** The struct in a list, map or reference. */
  #structOf(schema: JsonObject): JsonObject {
    let current = schema
    for (let depth = 0; depth < depthMax; depth++) {
      const type = typeOf(readSchema(current))
      if (type === 'struct' || type === 'primitive' || type === 'arbitrary') break
      current = this.inner(current)
    }
    return current
  }
}

interface RecursiveOptions {
  readonly indent: number
  readonly visited: ReadonlySet<string>
}

function typeOf({ ref, type, properties, additionalProperties }: OpenApiSchema): ModelType {
  if (ref !== '') return 'reference'
  if (properties.size > 0) return 'struct'
  if (type === 'object' || additionalProperties !== undefined) return 'map'
  if (type === 'array') return 'array'
  return type === '' ? 'arbitrary' : 'primitive'
}

interface DescribeOptions {
  readonly schema: JsonObject
  readonly kind: SchemaKind
  readonly name: string
  readonly recursive: boolean
}

function describe(model: Model, { schema, kind, name, recursive }: DescribeOptions): string {
  const { group, version } = kind
  const head = `KIND:     ${kind.kind}\nVERSION:  ${group === '' ? version : `${group}/${version}`}\n\n`
  const descriptions: string[] = []
  let type = ''
  let current = schema
  for (let depth = 0; depth < depthMax; depth++) {
    const own = readSchema(current)
    descriptions.push(own.description)
    const modelType = typeOf(own)
    if (modelType === 'array' || modelType === 'map') type ||= model.typeName(current)
    if (modelType === 'struct') {
      const resource = name === '' ? '' : `RESOURCE: ${name} <${type || 'Object'}>\n\n`
      const lines = recursive
        ? model.recursiveLines(current, { indent: 3, visited: new Set() })
        : model.fieldLines(current, 3)
      return `${head}${resource}${describeAll(descriptions)}\nFIELDS:\n${lines}`
    }
    if (modelType === 'primitive') {
      return `${head}FIELD:    ${name} <${type || own.type}>\n\n${describeAll(descriptions)}`
    }
    if (modelType === 'arbitrary') return head + describeAll(descriptions)
    current = model.inner(current)
  }
  return head
}

/** Of the schema and of what refers to it, separated by empty lines. */
function describeAll(descriptions: readonly string[]): string {
  const shown = descriptions.map((text, index) =>
    text === '' ? '' : `${index === 0 ? '' : '\n'}${wrapped(text, 5)}`,
  )
  return `DESCRIPTION:\n${shown.join('') || wrapped('<empty>', 5)}`
}

function wrapped(text: string, indent: number): string {
  const margin = ' '.repeat(indent)
  return wrapParagraphs(text, lineWidth - indent)
    .map(line => (line === '' ? '\n' : `${margin}${line}\n`))
    .join('')
}
