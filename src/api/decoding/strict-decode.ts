/**
 * Decodes a request body to an object of the expected kind: parsing, duplicate key detection, kind check,
 * schema decoding. Failures are thrown as the ApiError that Kubernetes returns; unknown and duplicate fields
 * are errors, warnings or ignored, according to `fieldValidation`.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
 */
import { decode, type DecodeOptions } from './decode.ts'
import { DecodeError } from './decode-error.ts'
import { goTypeOf, typeNameOf } from './decode-scalar.ts'
import { invalid, invalidObject } from '../field-error.ts'
import { objectOf } from '../metadata.ts'
import { badRequest, requestEntityTooLarge, unsupportedMediaType, type ApiError } from '../errors.ts'
import { findDuplicateKeys, hasDuplicateKeys } from '../text/find-duplicate-keys.ts'
import { findFloatIntegers, type FloatInteger } from '../text/find-float-integers.ts'
import { parseGroupVersion } from '../group-version.ts'
import { formatJsonPath, type JsonPath } from '../text/json-path.ts'
import { parseJson, readText } from '../text/json.ts'
import type { JsonValue } from '../text/json-value.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import { quote } from '../text/quote.ts'
import { apiVersionOf, type GroupVersion, type GroupVersionKind } from '../resource.ts'
import type { Schema, StructSchema } from '../schema.ts'
import { missingTypeMetaError, readTypeMeta } from './type-meta.ts'
import { readYaml } from '../text/yaml.ts'

export interface StrictDecodeOptions extends DecodeOptions {
  readonly mediaType: string
  readonly schema: StructSchema
  readonly fieldValidation: FieldValidation
  /** The kind of the request URL, assumed for an object without a kind. */
  readonly expected: GroupVersionKind
  /** Other versions with the same schema that are accepted. */
  readonly accepted?: readonly GroupVersion[]
  readonly maxBytes?: number
  /** Receives the warnings of an object that is refused. */
  readonly onWarning?: (text: string) => void
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface StrictDecoded {
  readonly value: JsonObject
  readonly warnings: readonly string[]
}

/** Maximum size of a request body, as in Kubernetes. */
export const requestBytesMax = 3 * 1024 * 1024

/** Maximum number of unknown and duplicate fields reported. */
export const strictErrorsMax = 100

/** Throws ApiError: 400 for an invalid body, 413 if it is too large, 415 if its format is not supported. */
export function strictDecode(bytes: Uint8Array, options: StrictDecodeOptions): StrictDecoded {
  const { mediaType, schema, expected, fieldValidation } = options
  const unrecognized = (error: DecodeError) => unrecognizedObject(error, expected, bytes)
  const body = attempt(() => parseBody(bytes, mediaType, options), unrecognized)
  const kind = attempt(() => readKind(body.value, bytes, options), unrecognized)
  refuseOtherKind({ kind, body }, options)
  const refuse = (reason: string) => cannotHandle(kind, expected, reason)
  const decoded = attempt(
    () => {
      if (options.customResource !== true) refuseFloats(body.floatIntegers, schema)
      return decode(body.value, schema, options)
    },
    error => refuse(error.message),
  )
  const value = withTypeMeta(decoded.value, expected)
  if (fieldValidation === 'Ignore') return { value, warnings: [] }

  const duplicatePaths =
    options.customResource === true
      ? body.duplicatePaths
      : body.duplicatePaths.filter(path => isDecoded(path, schema))
  const fieldErrors = [
    ...decoded.unknownFields.map(path => `unknown field ${quote(path)}`),
    ...duplicateErrors(duplicatePaths),
  ].slice(0, strictErrorsMax)
  if (fieldErrors.length === 0 && body.yamlErrors.length === 0) return { value, warnings: [] }
  if (fieldValidation === 'Warn') return { value, warnings: [...body.yamlErrors, ...fieldErrors] }
  throw refuse(`strict decoding error: ${[...joinYamlErrors(body.yamlErrors), ...fieldErrors].join(', ')}`)
}

function duplicateErrors(paths: readonly JsonPath[]): readonly string[] {
  return paths.map(path => `duplicate field ${quote(formatJsonPath(path))}`)
}

/** The error of a custom resource that names another kind than its resource has. */
export function otherKindError(sent: GroupVersionKind, expected: string, name = ''): ApiError {
  return invalidObject({ group: sent.group, kind: sent.kind, name }, [
    invalid('kind', sent.kind, `must be ${expected}`),
  ])
}

/** The YAML parser reports all duplicate keys as one multi-line error. */
function joinYamlErrors(errors: readonly string[]): string[] {
  return errors.length === 0 ? [] : [['yaml: unmarshal errors:', ...errors].join('\n  ')]
}

interface Body {
  readonly value: JsonValue
  /** Errors of the YAML parser about duplicate keys. */
  readonly yamlErrors: readonly string[]
  /** Duplicate keys in JSON. */
  readonly duplicatePaths: readonly JsonPath[]
  readonly floatIntegers: readonly FloatInteger[]
}

const mediaTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']

function parseBody(bytes: Uint8Array, mediaType: string, options: StrictDecodeOptions): Body {
  const { maxBytes = requestBytesMax, fieldValidation } = options
  switch (
    mediaType
      .replace(/;[^]*$/, '')
      .trim()
      .toLowerCase()
  ) {
    case 'application/json': {
      const value = parseJsonBody(bytes, maxBytes)
      const isSuspicious = fieldValidation !== 'Ignore' && hasDuplicateKeys(bytes, value)
      const duplicates = isSuspicious ? findDuplicateKeys(readText(bytes)) : []
      const duplicatePaths = duplicates.map(({ path }) => path)
      return { value, yamlErrors: [], duplicatePaths, floatIntegers: findFloatIntegers(readText(bytes)) }
    }
    case 'application/yaml':
    case 'application/apply-patch+yaml': {
      const { value, duplicateKeys } = readYaml(bytes, { maxBytes })
      const yamlErrors = duplicateKeys.map(({ key, line }) => {
        return `line ${line}: key ${quote(formatJsonPath([key]))} already set in map`
      })
      return { value, yamlErrors, duplicatePaths: [], floatIntegers: [] }
    }
    default:
      throw unsupportedMediaType(mediaTypes)
  }
}

function parseJsonBody(bytes: Uint8Array, maxBytes: number): JsonValue {
  try {
    return parseJson(bytes, { maxBytes })
  } catch (error) {
    if (!(error instanceof DecodeError) || error.reason === 'too-large') throw error
    const text = `couldn't get version/kind; json parse error: ${error.message}`
    throw new DecodeError(error.reason, text, { cause: error })
  }
}

/** The kind in the body, or the expected one if it is missing. */
function readKind(value: JsonValue, bytes: Uint8Array, options: StrictDecodeOptions): GroupVersionKind {
  const { apiVersion, kind } = readTypeMeta(value)
  const { expected } = options
  // A custom resource must have a kind: the server has no type from which the kind could be derived.
  if (kind === '' && options.customResource === true) throw missingTypeMetaError('Kind', readText(bytes))
  const { group, version } = parseGroupVersion(apiVersion) ?? expected
  const isSameGroup =
    options.customResource !== true && version === '' && (group === '' || group === expected.group)
  return { ...(isSameGroup ? expected : { group, version }), kind: kind === '' ? expected.kind : kind }
}

interface DecodedKind {
  readonly kind: GroupVersionKind
  readonly body: Body
}

function refuseOtherKind({ kind, body }: DecodedKind, options: StrictDecodeOptions): void {
  const { expected, accepted = [], fieldValidation, customResource, onWarning } = options
  const isSameVersion = kind.group === expected.group && kind.version === expected.version
  // The type of a custom resource is validated after its fields were decoded.
  if (
    customResource === true &&
    fieldValidation === 'Warn' &&
    (kind.kind !== expected.kind || !isSameVersion)
  )
    for (const text of duplicateErrors(body.duplicatePaths)) onWarning?.(text)
  if (customResource === true && isSameVersion && kind.kind !== expected.kind) {
    const { metadata } = objectOf(isObject(body.value) ? body.value : {})
    throw otherKindError(kind, expected.kind, metadata?.name)
  }
  if (kind.kind !== expected.kind) {
    const internal = expected.group === '' ? 'core' : expected.group.split('.', 1)[0]
    const types = `(${kind.version}.${kind.kind}) to (${internal}.${expected.kind})`
    throw cannotHandle(kind, expected, `converting ${types}: unknown conversion`)
  }
  const isAccepted = [expected, ...accepted].some(
    ({ group, version }) => kind.group === group && kind.version === version,
  )
  if (!isAccepted) {
    const found = `the API version in the data (${apiVersionOf(kind)})`
    throw badRequest(`${found} does not match the expected API version (${apiVersionOf(expected)})`)
  }
}

/** Integers must be written as such. Throws DecodeError. */
function refuseFloats(floats: readonly FloatInteger[], root: StructSchema): void {
  for (const { path, literal } of floats) {
    let schema: Schema | undefined = root
    let owner = root
    const fields: string[] = []
    for (const segment of path) {
      if (schema?.type === 'struct') {
        owner = schema
        fields.push(String(segment))
        schema = schema.fields.get(String(segment))?.schema
      } else
        schema = schema?.type === 'list' ? schema.items : schema?.type === 'map' ? schema.values : undefined
    }
    if (schema?.type !== 'integer' && schema?.type !== 'int-or-string') continue
    const place = `struct field ${typeNameOf(owner)}.${fields.join('.')}`
    const target = `Go ${place} of type ${goTypeOf(schema)}`
    throw new DecodeError('type', `json: cannot unmarshal number ${literal} into ${target}`)
  }
}

/**
 * True if the decoder visits the key. It skips the contents of unknown fields and of values of any type, so
 * Kubernetes does not report duplicates there.
 */
function isDecoded(path: JsonPath, root: StructSchema): boolean {
  let schema: Schema = root
  for (const segment of path) {
    if (schema.type === 'struct') {
      const field = schema.fields.get(String(segment))
      if (field === undefined) return false
      schema = field.schema
    } else if (schema.type === 'list') {
      schema = schema.items
    } else if (schema.type === 'map') {
      schema = schema.values
    } else {
      return false
    }
  }
  return true
}

function withTypeMeta(value: JsonObject, expected: GroupVersionKind): JsonObject {
  const apiVersion = apiVersionOf(expected)
  if (value['apiVersion'] === apiVersion && value['kind'] === expected.kind) return value
  const typeMeta = { apiVersion, kind: expected.kind }
  return { ...typeMeta, ...value, ...typeMeta }
}

/** Runs a decoding step and translates its DecodeError. */
function attempt<T>(step: () => T, translate: (error: DecodeError) => ApiError): T {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw error.reason === 'too-large' ? requestEntityTooLarge(error.message) : translate(error)
  }
}

function cannotHandle(kind: GroupVersionKind, expected: GroupVersionKind, reason: string): ApiError {
  const found = `${kind.kind} in version ${quote(kind.version)}`
  return badRequest(`${found} cannot be handled as a ${expected.kind}: ${reason}`)
}

function unrecognizedObject(error: DecodeError, expected: GroupVersionKind, bytes: Uint8Array): ApiError {
  const head = `the object provided is unrecognized (must be of type ${expected.kind})`
  return badRequest(`${head}: ${error.message} (${summarize(bytes)})`)
}

/** Maximum number of bytes of the body in an error message. */
const summaryBytesMax = 30

/** The beginning of a body: as text if it looks like JSON, otherwise in hexadecimal. */
function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const head = Buffer.from(bytes.subarray(0, summaryBytesMax))
  const text = bytes[0] === 0x7b ? head.toString('utf8') : head.toString('hex')
  return bytes.length > summaryBytesMax ? `${text} ...` : text
}
