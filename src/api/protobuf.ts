/**
 * Encoding and decoding of API objects in `application/vnd.kubernetes.protobuf`, for every built-in kind,
 * byte for byte as a Go server writes them. Custom resources and Tables have no protobuf form.
 *
 * In Go a field without a pointer is always present, so zero and absent are the same on the wire. Where JSON
 * does not distinguish them either, they are decoded as absent: an empty string, zero or false that is not
 * required, and an empty struct (`status: {}`). Required lists and maps are present even if empty, others are
 * not. An embedded object (a volume claim template in a StatefulSet) loses its apiVersion and kind, for which
 * its message has no fields.
 *
 * An object is encoded once: lists and watch events are assembled from its bytes.
 */
import { assert } from '#/base/assert.ts'
import { ProtobufError, Reader } from '#/base/protobuf.ts'
import { DecodeError } from './decoding/decode-error.ts'
import { parseGroupVersion } from './group-version.ts'
import type { JsonObject } from './text/json-object.ts'
import { readEnvelope, tail, writeHead } from './protobuf/envelope.ts'
import { listFrame, type ProtobufListFrame } from './protobuf/list-frame.ts'
import { codecOfKind } from './protobuf/kinds.ts'
import { depthMax, encodeWith } from './protobuf/spare-writer.ts'
import { readWatchEvent, writeFrame } from './protobuf/watch-event.ts'
import { quote } from './text/quote.ts'
import { apiVersionOf, type GroupVersionKind } from './resource.ts'
import { missingTypeMetaError, type TypeMeta } from './decoding/type-meta.ts'

export { WatchFrames } from './protobuf/watch-frames.ts'

export const protobufMediaType = 'application/vnd.kubernetes.protobuf'

/** True if the kind has a protobuf form. */
export function hasProtobuf(kind: GroupVersionKind): boolean {
  return codecOfKind({ apiVersion: apiVersionOf(kind), kind: kind.kind }) !== undefined
}

/** Encodes an object, which must have its kind and match its schema, with its envelope. */
export function encodeProtobuf(object: object): Uint8Array {
  const typeMeta = typeMetaOf(object)
  return encode(object, requireCodec(typeMeta), typeMeta)
}

/** The same for types of `v1` that do not name their version: APIVersions, APIResourceList of the core group. */
export function encodeProtobufWithoutVersion(object: object): Uint8Array {
  const { kind } = typeMetaOf(object)
  return encode(object, requireCodec({ apiVersion: 'v1', kind }), { apiVersion: '', kind })
}

function encode(object: object, codec: ReturnType<typeof requireCodec>, typeMeta: TypeMeta): Uint8Array {
  return encodeWith(writer => {
    writeHead(writer, typeMeta)
    codec.write(writer, object as JsonObject)
    for (const byte of tail) writer.uint32(byte)
  })
}

/** Joined, its parts are the same bytes as encoding the list with all its items, which are given in their envelopes. */
export function protobufListFrame(
  list: TypeMeta & { readonly metadata?: object },
  items: readonly Uint8Array[],
): ProtobufListFrame {
  const { apiVersion, kind, metadata } = list
  const head = { metadata } as JsonObject
  return listFrame({ typeMeta: { apiVersion, kind }, codec: requireCodec(list), head, items })
}

/**
 * Decodes an object from its envelope. An object without a kind is assumed to have the expected one. Throws
 * DecodeError if the bytes are not an object of a known kind.
 */
export function decodeProtobuf(bytes: Uint8Array, expected?: GroupVersionKind): JsonObject {
  return translateErrors(() => {
    const envelope = readEnvelope(bytes)
    const typeMeta = completeTypeMeta(envelope, expected)
    const codec = codecOfKind(typeMeta)
    if (codec === undefined) throw notRegistered(typeMeta)
    const object: JsonObject = { ...typeMeta }
    codec.readFields(new Reader(envelope.raw, { depthMax }), object)
    codec.complete(object)
    return object
  })
}

export interface WatchEventBytes {
  readonly type: string
  /** The object with its envelope. */
  readonly object: Uint8Array
}

export interface DecodedWatchEvent {
  readonly type: string
  readonly object: JsonObject
}

/** A watch event with its length prefix. */
export function encodeProtobufWatchEvent(event: WatchEventBytes): Uint8Array {
  return writeFrame(event)
}

/** Decodes a frame of `WatchFrames`. Throws DecodeError. */
export function decodeProtobufWatchEvent(frame: Uint8Array): DecodedWatchEvent {
  const { type, object } = translateErrors(() => readWatchEvent(frame))
  return { type, object: decodeProtobuf(object) }
}

function requireCodec(typeMeta: TypeMeta) {
  const codec = codecOfKind(typeMeta)
  assert(codec, `${typeMeta.apiVersion}, Kind=${typeMeta.kind} has no protobuf codec`)
  return codec
}

function typeMetaOf({ apiVersion = '', kind = '' }: Partial<TypeMeta>): TypeMeta {
  return { apiVersion, kind }
}

function completeTypeMeta({ apiVersion, kind }: TypeMeta, expected: GroupVersionKind | undefined): TypeMeta {
  const groupVersion = parseGroupVersion(apiVersion)
  if (groupVersion === undefined) {
    throw new DecodeError('type', `unexpected GroupVersion string: ${shorten(apiVersion)}`)
  }
  const complete = {
    apiVersion: groupVersion.version === '' && expected ? apiVersionOf(expected) : apiVersion,
    kind: kind === '' ? (expected?.kind ?? '') : kind,
  }
  if (complete.kind === '') throw missingTypeMetaError('Kind', describe(complete))
  if (complete.apiVersion === '') throw missingTypeMetaError('apiVersion', describe(complete))
  return complete
}

function describe({ apiVersion, kind }: TypeMeta): string {
  return `apiVersion ${quote(shorten(apiVersion))}, kind ${quote(shorten(kind))}`
}

function notRegistered({ apiVersion, kind }: TypeMeta): DecodeError {
  const text = `no kind ${quote(shorten(kind))} is registered for version ${quote(shorten(apiVersion))}`
  return new DecodeError('type', text)
}

/** Maximum length of a name from the input in an error message. */
const shownCharactersMax = 100

function shorten(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}...` : text
}

function translateErrors<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw new DecodeError('syntax', error.message, { cause: error })
  }
}
