/** OpenAPI v2 in protobuf. */
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { Writer } from '#/base/protobuf.ts'
import { Definitions, Document, memberFields, Parameters, Paths } from './gnostic-messages.ts'
import type { JsonSchema } from './json-schema.ts'

/** The objects of an OpenAPI v2 document that grow with the number of resources. */
export const memberKinds = ['paths', 'definitions', 'parameters'] as const

export type MemberKind = (typeof memberKinds)[number]

/** The parts of a document that are the same for all resources. */
export interface Version2Frame {
  readonly swagger: string
  readonly info: { readonly title: string; readonly version: string }
  readonly security: readonly JsonSchema[]
  readonly securityDefinitions: JsonSchema
}

/** A document whose members are encoded already. */
export function gnosticChunks(
  { swagger, info, security, securityDefinitions }: Version2Frame,
  members: Readonly<Record<MemberKind, readonly Uint8Array[]>>,
): readonly Uint8Array[] {
  const tail = Document.encode({
    security: security.map(each => ({
      additionalProperties: named(each, value => ({ value: value as unknown as readonly string[] })),
    })),
    securityDefinitions: {
      additionalProperties: named(securityDefinitions, value => ({ apiKeySecurity: value })),
    },
  })
  return [
    Document.encode({ swagger, info }),
    ...memberKinds.flatMap(kind => [prefixOf(kind, members[kind]), ...members[kind]]),
    tail,
  ]
}

/** Field number and length of a message that consists of the chunks. */
function prefixOf(kind: MemberKind, chunks: readonly Uint8Array[]): Uint8Array {
  const writer = new Writer()
  writer.uint32((memberFields[kind] << 3) | lengthDelimited)
  writer.uint32(chunks.reduce((sum, { length }) => sum + length, 0))
  return writer.finish()
}

/** Wire type. */
const lengthDelimited = 2

/** Members of a document without field number and length, so that several encodings can be concatenated. */
export function encodeGnosticMembers(kind: MemberKind, members: JsonSchema): Uint8Array {
  switch (kind) {
    case 'paths':
      return Paths.encode({ path: named(members, pathItem) })
    case 'definitions':
      return Definitions.encode({ additionalProperties: named(members, value => schema(value, 0)) })
    case 'parameters':
      return Parameters.encode({ additionalProperties: named(members, parameter) })
  }
}

type Named<T> = Readonly<Record<'name', string> & Record<'value', T>>

function named<T>(members: unknown, convert: (value: JsonSchema) => T): readonly Named<T>[] {
  return Object.entries(members as Readonly<Record<string, JsonSchema>>).map(([name, value]) => ({
    name,
    value: convert(value),
  }))
}

function pathItem({ parameters, ...operations }: JsonSchema): Readonly<Record<string, unknown>> {
  const converted = Object.entries(operations).map(([method, each]) => [
    method,
    operation(each as JsonSchema),
  ])
  return { ...(Object.fromEntries(converted) as JsonSchema), ...parametersOf(parameters) }
}

function operation({ parameters, responses, ...rest }: JsonSchema): JsonSchema {
  return {
    ...rest,
    ...parametersOf(parameters),
    responses: { responseCode: named(responses, response) },
    vendorExtension: extensions(rest),
  }
}

function response({ description, schema: shape }: JsonSchema): JsonSchema {
  return { response: { description, ...(shape !== undefined && { schema: { schema: schema(shape, 0) } }) } }
}

function parametersOf(parameters: unknown): JsonSchema {
  if (parameters === undefined) return {}
  return {
    parameters: (parameters as readonly JsonSchema[]).map(each =>
      '$ref' in each ? { reference: { ref: each['$ref'] } } : { parameter: parameter(each) },
    ),
  }
}

function parameter(value: JsonSchema): JsonSchema {
  const place = text(value['in'])
  if (place === 'body') return { bodyParameter: { ...value, schema: schema(value['schema'], 0) } }
  return { nonBodyParameter: { [place]: value } }
}

/**
 * Maximum nesting of schemas, each of which takes three messages per level; deeper schemas are left empty.
 */
const depthMax = 30

/** Converts the parts of a schema that differ from JSON. */
function schema(value: unknown, depth: number): JsonSchema {
  if (typeof value !== 'object' || value === null) return {}
  const { $ref, type, enum: values, default: given, example, ...rest } = value as JsonSchema
  const { properties, items, additionalProperties, ...plain } = rest
  return {
    ...Object.fromEntries(Object.entries(plain).filter(([key, each]) => isPlain(key, each))),
    ...(typeof $ref === 'string' && { ref: $ref }),
    ...(typeof type === 'string' && { type: { value: [type] } }),
    ...(Array.isArray(values) && { enum: values.map(any) }),
    ...(given !== undefined && { default: any(given) }),
    ...(example !== undefined && { example: any(example) }),
    ...(depth < depthMax && {
      ...(properties !== undefined && {
        properties: { additionalProperties: named(properties, each => schema(each, depth + 1)) },
      }),
      ...(items !== undefined && { items: { schema: [schema(items, depth + 1)] } }),
      ...(additionalProperties !== undefined && {
        additionalProperties:
          typeof additionalProperties === 'boolean'
            ? { boolean: additionalProperties }
            : { schema: schema(additionalProperties, depth + 1) },
      }),
    }),
    vendorExtension: extensions(plain),
  }
}

const texts: ReadonlySet<string> = new Set(['format', 'title', 'description', 'pattern'])
const flags: ReadonlySet<string> = new Set(['exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems'])
const numbers: ReadonlySet<string> = new Set(['multipleOf', 'maximum', 'minimum'])
const counts: ReadonlySet<string> = new Set([
  'maxLength',
  'minLength',
  'maxItems',
  'minItems',
  'maxProperties',
  'minProperties',
])

/** Custom schemas may contain anything; values of the wrong type are dropped. */
function isPlain(key: string, value: unknown): boolean {
  if (texts.has(key)) return typeof value === 'string'
  if (flags.has(key)) return typeof value === 'boolean'
  if (numbers.has(key)) return typeof value === 'number'
  if (counts.has(key)) return Number.isSafeInteger(value)
  return key === 'required' && Array.isArray(value) && value.every(each => typeof each === 'string')
}

function extensions(value: JsonSchema): readonly Named<JsonSchema>[] {
  return Object.entries(value)
    .filter(([key]) => key.startsWith('x-'))
    .map(([name, each]) => ({ name, value: any(each) }))
}

function any(value: unknown): JsonSchema {
  return { yaml: stringifyYaml(value as JsonValue) }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
