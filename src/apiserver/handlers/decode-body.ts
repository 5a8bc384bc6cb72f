/** Strict decoding of the request body as the kind that the path expects. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { badRequest } from '#/api/errors.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { decodeProtobuf } from '#/api/protobuf.ts'
import { quote } from '#/api/text/quote.ts'
import { isCustomKind, type GroupVersion, type GroupVersionKind } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import { requestBytesMax, strictDecode, type FieldValidation } from '#/api/decoding/strict-decode.ts'
import { nextSlice } from '#/platform/time-slices.ts'
import { bodyFormat, mediaTypes } from '../negotiation.ts'
import type { RequestScope } from './request-scope.ts'

export interface Expected {
  readonly kind: GroupVersionKind
  readonly schema: StructSchema
  readonly fieldValidation: FieldValidation
  /** Other versions with the same schema that are accepted. */
  readonly accepted?: readonly GroupVersion[]
}

export async function decodeBody(scope: RequestScope, expected: Expected): Promise<KubernetesObject> {
  const { request } = scope.context
  if (request.body.value !== undefined) return readValue(request.body.value as JsonValue, expected)
  const format = bodyFormat(request.headers['content-type'])
  const bytes = await request.body.bytes(requestBytesMax)
  recordBodySize(scope, bytes.length)
  if (bytes.length < largeBytesMin) return decodeBytes(scope, bytes, { ...expected, format })
  const { clock } = scope.registry.platform
  await nextSlice(clock, 'decode request body')
  const object = decodeBytes(scope, bytes, { ...expected, format })
  await nextSlice(clock, 'large request')
  return object
}

/** Decoding more takes milliseconds. */
const largeBytesMin = 256 * 1024

/**
 * For in-process callers: decoded like JSON, but without warnings about unknown fields, because the value is
 * typed.
 */
function readValue(value: JsonValue, { kind: { kind, version }, schema }: Expected): KubernetesObject {
  try {
    return objectOf(decode(value, schema, { customResource: isCustomKind({ schema }) }).value)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${kind}: ${error.message}`)
  }
}

function decodeBytes(
  scope: RequestScope,
  bytes: Uint8Array,
  {
    kind,
    schema,
    fieldValidation,
    format,
    accepted = [],
  }: Expected & { readonly format: keyof typeof mediaTypes },
): KubernetesObject {
  if (format === 'protobuf') {
    const object: KubernetesObject = readProtobuf(bytes, kind)
    if (object.kind !== kind.kind) {
      throw badRequest(`${object.kind} in version "${object.apiVersion}" cannot be handled as a ${kind.kind}`)
    }
    return object
  }
  const { value, warnings } = strictDecode(bytes, {
    mediaType: mediaTypes[format],
    schema,
    expected: kind,
    accepted,
    fieldValidation,
    customResource: isCustomKind({ schema }),
    onWarning: text => scope.context.warnings.add(text),
  })
  for (const warning of warnings) scope.context.warnings.add(warning)
  return objectOf(value)
}

function readProtobuf(bytes: Uint8Array, kind: GroupVersionKind): KubernetesObject {
  try {
    return objectOf(decodeProtobuf(bytes, kind))
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`the object provided is unrecognized: ${error.message}`)
  }
}

/** The raw body, for callers that decode it themselves. */
export async function bodyBytes(scope: RequestScope): Promise<Uint8Array> {
  const { body } = scope.context.request
  if (body.value !== undefined) return Buffer.from(JSON.stringify(body.value))
  const bytes = await body.bytes(requestBytesMax)
  recordBodySize(scope, bytes.length)
  return bytes
}

function recordBodySize({ registry, resource, info }: RequestScope, sizeBytes: number): void {
  const verb = info.verb === 'deletecollection' ? 'delete_collection' : info.verb
  registry.metrics?.requests.bodySizes(resource.group, resource.plural, verb).observe(sizeBytes)
}
