/**
 * Maximum sizes of the values of a custom resource: as declared in its schema with `maxLength`, `maxItems`,
 * `maxProperties`, `enum` or `format`, otherwise as many as fit into the largest request. Values that are not
 * visible to expressions have no size.
 */
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import type { Int64 } from '#/api/text/int64.ts'
import type { DeclaredSize } from './estimate.ts'
import { escapeName } from './schema-type.ts'

export interface SchemaSize extends DeclaredSize {
  /** Bytes of the shortest value in JSON. */
  readonly minSerializedSize: bigint
  readonly elements?: SchemaSize | undefined
}

/**
 * The size of the root of a custom resource, which always has `apiVersion`, `kind` and metadata. Undefined if it
 * is not visible to expressions.
 */
export function resourceSize(schema: JSONSchemaProps): SchemaSize | undefined {
  return createSize(schema, true)
}

/** The size of a schema within a custom resource. */
export function schemaSize(schema: JSONSchemaProps): SchemaSize | undefined {
  const known = sizes.get(schema)
  if (known !== undefined) return known
  const size = createSize(schema, schema['x-kubernetes-embedded-resource'] === true)
  if (size !== undefined) sizes.set(schema, size)
  return size
}

/** Rules ask for the same sizes again and again. */
const sizes = new WeakMap<JSONSchemaProps, SchemaSize>()

function createSize(schema: JSONSchemaProps, isResourceRoot: boolean): SchemaSize | undefined {
  if (schema['x-kubernetes-int-or-string']) {
    return { minSerializedSize: numberSizeMin, maxElements: charactersMax(schema) ?? stringSizeMax }
  }
  switch (schema.type) {
    case 'array':
      return listSize(schema)
    case 'object':
      return isSchema(schema.additionalProperties)
        ? mapSize(schema, schema.additionalProperties)
        : new ObjectSize(isResourceRoot ? withResourceFields(schema) : schema)
    case 'string':
      return stringSize(schema)
    case 'boolean':
      return { minSerializedSize: 4n, maxElements: 0n }
    case 'integer':
    case 'number':
      return { minSerializedSize: numberSizeMin, maxElements: 0n }
    case undefined:
    default:
      return undefined
  }
}

/** The number of values of at least this size that fit into a request, with a comma after each. */
export function maxCardinality({ minSerializedSize }: SchemaSize): bigint {
  return requestSizeMax / (minSerializedSize + 1n)
}

/** The limit on the size of requests, in bytes. */
const requestSizeMax = 3n * 1_024n * 1_024n
/** `""`, `[]` or `{}`. */
const emptySize = 2n
const stringSizeMax = requestSizeMax - emptySize
const numberSizeMin = 1n
/** A character has up to four bytes in UTF-8. */
const characterBytesMax = 4n

/** Sizes of strings with a format in JSON, with the quotation marks. */
const formatSizes: ReadonlyMap<string, { readonly min: bigint; readonly max: bigint }> = new Map([
  ['date', { min: 12n, max: 12n }],
  ['date-time', { min: 21n, max: 32n }],
  ['duration', { min: 3n, max: 32n }],
])

function stringSize(schema: JSONSchemaProps): SchemaSize {
  const { format = '', maxLength, enum: values = [] } = schema
  const known = formatSizes.get(format)
  if (known !== undefined) return { minSerializedSize: known.min, maxElements: known.max }
  const maxElements = format === 'byte' ? limit(maxLength) : (charactersMax(schema) ?? longest(values))
  return { minSerializedSize: emptySize, maxElements: maxElements ?? stringSizeMax }
}

/** In bytes, as all sizes. */
function charactersMax({ maxLength }: JSONSchemaProps): bigint | undefined {
  const length = limit(maxLength)
  return length === undefined ? undefined : length * characterBytesMax
}

/** Undefined if there are no values. */
function longest(values: readonly unknown[]): bigint | undefined {
  if (values.length === 0) return undefined
  let max = 0
  for (const value of values) if (typeof value === 'string') max = Math.max(max, Buffer.byteLength(value))
  return BigInt(max)
}

/** A comma separates the items. */
function listSize({ items, maxItems }: JSONSchemaProps): SchemaSize | undefined {
  const elements = isSchema(items) ? schemaSize(items) : undefined
  if (elements === undefined) return undefined
  const fitting = stringSizeMax / (elements.minSerializedSize + 1n)
  return { minSerializedSize: emptySize, maxElements: limit(maxItems) ?? fitting, elements }
}

/** An entry has a key of at least two characters with quotation marks, a colon and a comma. */
function mapSize({ maxProperties }: JSONSchemaProps, values: JSONSchemaProps): SchemaSize | undefined {
  const elements = schemaSize(values)
  if (elements === undefined) return undefined
  const fitting = stringSizeMax / (elements.minSerializedSize + 6n)
  return {
    minSerializedSize: emptySize,
    maxElements: limit(maxProperties) ?? fitting,
    keys,
    elements,
  }
}

/** Kubernetes declares no size for keys and therefore counts no cost for reading them. */
const keys: DeclaredSize = { maxElements: 0n }

/** Computed on demand: a schema may have thousands of fields, of which a rule uses few. */
class ObjectSize implements SchemaSize {
  readonly maxElements = 0n
  readonly #schema: JSONSchemaProps
  #properties: ReadonlyMap<string, JSONSchemaProps> | undefined
  #minSerializedSize: bigint | undefined

  constructor(schema: JSONSchemaProps) {
    this.#schema = schema
  }

  get minSerializedSize(): bigint {
    return (this.#minSerializedSize ??= this.#sumRequired())
  }

  field(name: string): SchemaSize | undefined {
    this.#properties ??= new Map(
      Object.entries(this.#schema.properties ?? {}).map(([property, schema]) => {
        return [escapeName(property) ?? '', schema]
      }),
    )
    const schema = this.#properties.get(name)
    return schema && schemaSize(schema)
  }

  /** Fields with a default may be absent from the request. */
  #sumRequired(): bigint {
    const { properties = {}, required = [] } = this.#schema
    let sum = emptySize
    for (const name of new Set(required)) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (property === undefined || (property.default ?? null) !== null) continue
      const size = schemaSize(property)
      // Quotation marks, colon and comma.
      if (size !== undefined) sum += BigInt(Buffer.byteLength(name)) + size.minSerializedSize + 4n
    }
    return sum
  }
}

/** Adds the fields of a resource if the schema does not declare all of them. */
function withResourceFields(schema: JSONSchemaProps): JSONSchemaProps {
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  const { name, generateName } = metadata?.properties ?? {}
  const isComplete =
    metadata?.type === 'object' &&
    [kind, apiVersion, name, generateName].every(property => property?.type === 'string')
  return isComplete ? schema : { ...schema, properties: { ...schema.properties, ...resourceFields } }
}

const string: JSONSchemaProps = { type: 'string' }
const resourceFields: Readonly<Record<string, JSONSchemaProps>> = {
  apiVersion: string,
  kind: string,
  metadata: { type: 'object', properties: { name: string, generateName: string } },
}

function limit(value: Int64 | undefined): bigint | undefined {
  if (value === undefined) return undefined
  return value < 0 ? 0n : BigInt(value)
}

function isSchema(value: unknown): value is JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
