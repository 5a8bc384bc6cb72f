/**
 * Protobuf messages of OpenAPI v2 documents (github.com/google/gnostic-models, `openapi.v2`), which Go
 * clients request. Limited to what an API server's document contains.
 */
import { message, type Message } from '#/base/protobuf.ts'

/** An arbitrary value, as YAML. */
const Any = message({ yaml: [2, 'string'] })

const NamedAny = message({ name: [1, 'string'], value: [2, Any] })

/** Schemas are recursive, which the inferred message type cannot express. */
type SchemaValue = Readonly<Record<string, unknown>>

const NamedSchema: Message<SchemaValue> = message({ name: [1, 'string'], value: [2, () => Schema] })

const Schema: Message<SchemaValue> = message({
  ref: [1, 'string'],
  format: [2, 'string'],
  title: [3, 'string'],
  description: [4, 'string'],
  default: [5, Any],
  multipleOf: [6, 'double'],
  maximum: [7, 'double'],
  exclusiveMaximum: [8, 'bool'],
  minimum: [9, 'double'],
  exclusiveMinimum: [10, 'bool'],
  maxLength: [11, 'int64'],
  minLength: [12, 'int64'],
  pattern: [13, 'string'],
  maxItems: [14, 'int64'],
  minItems: [15, 'int64'],
  uniqueItems: [16, 'bool'],
  maxProperties: [17, 'int64'],
  minProperties: [18, 'int64'],
  required: [19, 'string', 'repeated'],
  enum: [20, Any, 'repeated'],
  additionalProperties: [21, message({ schema: [1, () => Schema], boolean: [2, 'bool'] })],
  type: [22, message({ value: [1, 'string', 'repeated'] })],
  items: [23, message({ schema: [1, () => Schema, 'repeated'] })],
  properties: [25, message({ additionalProperties: [1, () => NamedSchema, 'repeated'] })],
  example: [30, Any],
  vendorExtension: [31, NamedAny, 'repeated'],
})

const Reference = message({ ref: [1, 'string'], description: [2, 'string'] })

const BodyParameter = message({
  description: [1, 'string'],
  name: [2, 'string'],
  in: [3, 'string'],
  required: [4, 'bool'],
  schema: [5, Schema],
})

const QueryParameter = message({
  required: [1, 'bool'],
  in: [2, 'string'],
  description: [3, 'string'],
  name: [4, 'string'],
  type: [6, 'string'],
  uniqueItems: [20, 'bool'],
})

const PathParameter = message({
  required: [1, 'bool'],
  in: [2, 'string'],
  description: [3, 'string'],
  name: [4, 'string'],
  type: [5, 'string'],
  uniqueItems: [19, 'bool'],
})

const Parameter = message({
  bodyParameter: [1, BodyParameter],
  nonBodyParameter: [2, message({ query: [3, QueryParameter], path: [4, PathParameter] })],
})

const ParametersItem = message({ parameter: [1, Parameter], reference: [2, Reference] })

const Response = message({ description: [1, 'string'], schema: [2, message({ schema: [1, Schema] })] })

const Operation = message({
  tags: [1, 'string', 'repeated'],
  description: [3, 'string'],
  operationId: [5, 'string'],
  produces: [6, 'string', 'repeated'],
  consumes: [7, 'string', 'repeated'],
  parameters: [8, ParametersItem, 'repeated'],
  responses: [
    9,
    message({
      responseCode: [
        1,
        message({ name: [1, 'string'], value: [2, message({ response: [1, Response] })] }),
        'repeated',
      ],
    }),
  ],
  schemes: [10, 'string', 'repeated'],
  vendorExtension: [13, NamedAny, 'repeated'],
})

const PathItem = message({
  get: [2, Operation],
  put: [3, Operation],
  post: [4, Operation],
  delete: [5, Operation],
  options: [6, Operation],
  head: [7, Operation],
  patch: [8, Operation],
  parameters: [9, ParametersItem, 'repeated'],
})

const ApiKeySecurity = message({
  type: [1, 'string'],
  name: [2, 'string'],
  in: [3, 'string'],
  description: [4, 'string'],
})

const StringArray = message({ value: [1, 'string', 'repeated'] })

const SecurityRequirement = message({
  additionalProperties: [1, message({ name: [1, 'string'], value: [2, StringArray] }), 'repeated'],
})

export const Paths = message({
  path: [2, message({ name: [1, 'string'], value: [2, PathItem] }), 'repeated'],
})

export const Definitions = message({ additionalProperties: [1, NamedSchema, 'repeated'] })

export const Parameters = message({
  additionalProperties: [1, message({ name: [1, 'string'], value: [2, Parameter] }), 'repeated'],
})

/** Field numbers in a document. */
export const memberFields = { paths: 8, definitions: 9, parameters: 10 } as const

export const Document = message({
  swagger: [1, 'string'],
  info: [2, message({ title: [1, 'string'], version: [2, 'string'] })],
  paths: [memberFields.paths, Paths],
  definitions: [memberFields.definitions, Definitions],
  parameters: [memberFields.parameters, Parameters],
  security: [12, SecurityRequirement, 'repeated'],
  securityDefinitions: [
    13,
    message({
      additionalProperties: [
        1,
        message({ name: [1, 'string'], value: [2, message({ apiKeySecurity: [2, ApiKeySecurity] })] }),
        'repeated',
      ],
    }),
  ],
})
