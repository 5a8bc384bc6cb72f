/**
 * One version of an object: the shared immutable value and its encodings, each computed once. The stored JSON
 * has no resourceVersion, which is known only after the write; it is spliced into the bytes when they are
 * served.
 */
import type { JsonObject } from '#/api/apply.ts'
import { assert } from '#/base/assert.ts'
import { unpooledConcat, unpooledBytes } from '#/base/unpooled-bytes.ts'
import { encodedObject, parseEncodedObject } from '#/api/encoded-object.ts'
import { apiError } from '#/api/errors.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { objectOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Entry } from '#/store/store.ts'
import type { DecodedObjects } from './decoded-objects.ts'

export class StoredObject {
  readonly key: string
  /** 0 for an object that is not in the store and has no resourceVersion. */
  readonly revision: number
  /** The stored JSON. */
  readonly #stored: Uint8Array
  #object: Stored | undefined
  /** The released object, which informers of this process may still hold: they and the cache share one copy. */
  #released: WeakRef<Stored> | undefined
  #json: Uint8Array | undefined
  /** Other encodings (protobuf, table rows, other API versions), by name. */
  #forms: Map<string, unknown> | undefined
  /** Set for an object in the cache. */
  readonly #decodedObjects: DecodedObjects | undefined
  #wasUsed = false

  constructor(
    { key, revision, value }: Pick<Entry, 'key' | 'revision' | 'value'>,
    object?: KubernetesObject,
    decodedObjects?: DecodedObjects,
  ) {
    this.key = key
    this.revision = revision
    this.#stored = value
    this.#object = object && withResourceVersion(object, revision)
    this.#decodedObjects = decodedObjects
    if (object) decodedObjects?.add(this)
  }

  /** The stored JSON, as the store returned it. */
  get stored(): Uint8Array {
    return this.#stored
  }

  /** Size of the stored JSON. */
  get sizeBytes(): number {
    return this.#stored.length
  }

  /** Found without decoding the object; empty if the value could not be decrypted. */
  get uid(): string {
    return this.#object?.metadata.uid ?? uidIn(this.#stored)
  }

  /** The same; throws ApiError if the object cannot be decoded. */
  get readableBytes(): number {
    return this.#readable.length
  }

  /** In the storage version, with resourceVersion. Immutable. */
  get object(): Stored {
    this.#wasUsed = true
    if (this.#object) return this.#object
    this.#object = this.peek()
    this.#decodedObjects?.add(this)
    return this.#object
  }

  get isDecoded(): boolean {
    return this.#object !== undefined
  }

  /** True if the object was used since the last call. */
  takeUse(): boolean {
    const wasUsed = this.#wasUsed
    this.#wasUsed = false
    return wasUsed
  }

  /** The same object, which is not kept in memory if it has to be decoded. */
  peek(): Stored {
    return (
      this.#object ??
      this.#released?.deref() ??
      withResourceVersion(objectOf(parseEncodedObject(this.#readable) as JsonObject), this.revision)
    )
  }

  /** JSON in the storage version, with resourceVersion. */
  get json(): Uint8Array {
    this.#wasUsed = true
    if (this.#json) return this.#json
    this.#json = spliceResourceVersion(this.#readable, this.revision)
    this.#decodedObjects?.add(this)
    return this.#json
  }

  /**
   * The same JSON after `kind` and `apiVersion` and without the opening brace: the start of metadata, and the rest of
   * the stored bytes, which are not copied.
   */
  get jsonFromMetadata(): readonly [string, Uint8Array] {
    this.#wasUsed = true
    const stored = this.#readable
    const at = metadataFieldsAt(stored)
    return [`"metadata":{${resourceVersionField(stored, at, this.revision)}`, stored.subarray(at)]
  }

  /** True if the JSON contains the bytes anywhere; cheaper than parsing. */
  contains(text: Uint8Array): boolean {
    return Buffer.from(this.#stored.buffer, this.#stored.byteOffset, this.#stored.length).includes(text)
  }

  /** Throws ApiError for a value that could not be decrypted: it is not JSON, and only reading that object fails. */
  checkReadable(): void {
    if (this.#stored[0] === openingBrace) return
    throw apiError('StorageReadError', `cannot decode ${this.key}: stored value is not JSON`)
  }

  get #readable(): Uint8Array {
    this.checkReadable()
    return this.#stored
  }

  /** The same content with another revision, for DELETED events. */
  at(revision: number): StoredObject {
    return new StoredObject({ key: this.key, revision, value: this.#stored }, this.#object)
  }

  /** As `releaseDecoded`, but the decoded object is used again while others in this process hold it. */
  weakenDecoded(): void {
    const object = this.#object
    this.releaseDecoded()
    this.#released = object && new WeakRef(object)
  }

  /** Drops everything but the stored bytes, from which the rest is recomputed on demand. */
  releaseDecoded(): void {
    this.#object = undefined
    this.#released = undefined
    this.#json = undefined
    this.#forms = undefined
  }

  hasForm(name: string): boolean {
    return this.#forms?.has(name) ?? false
  }

  /** Replaces a form that is cached; undefined removes it. */
  replaceForm(name: string, form: object | undefined): void {
    if (form === undefined) this.#forms?.delete(name)
    else if (this.#forms?.has(name)) this.#forms.set(name, form)
  }

  /** A derived form of the object, computed on first use and cached. */
  form<T>(name: string, make: () => T): T {
    this.#wasUsed = true
    this.#forms ??= new Map()
    const known = this.#forms.get(name)
    if (known !== undefined) return known as T
    const made = make()
    this.#forms.set(name, made)
    this.#decodedObjects?.add(this)
    return made
  }
}

/**
 * Encodes an object for the store. kind, apiVersion and metadata come first, so that resourceVersion can be
 * inserted without parsing.
 */
export function encodeForStore(object: KubernetesObject): Uint8Array {
  const { kind, apiVersion, metadata, ...rest } = encodedObject(object)
  const { resourceVersion: _, ...kept } = metadata
  return unpooledBytes(stringifyJson({ kind, apiVersion, metadata: kept, ...rest } as unknown as JsonValue))
}

function withResourceVersion(object: KubernetesObject, revision: number): Stored {
  if (revision === 0) return withoutResourceVersion(object) as Stored
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } } as Stored
}

function withoutResourceVersion(object: KubernetesObject): KubernetesObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

function spliceResourceVersion(stored: Uint8Array, revision: number): Uint8Array {
  if (revision === 0) return stored
  const at = metadataFieldsAt(stored)
  const version = Buffer.from(resourceVersionField(stored, at, revision))
  return unpooledConcat([stored.subarray(0, at), version, stored.subarray(at)])
}

/** The start of the fields of metadata, which is the first object in the JSON: kind and apiVersion are texts. */
function metadataFieldsAt(stored: Uint8Array): number {
  let at = 1
  while (at < headBytesMax && stored[at] !== openingBrace) at++
  assert(stored[at] === openingBrace, 'stored objects begin with kind, apiVersion and metadata')
  return at + 1
}

/** The text of the field of metadata; that of an ownerReference is in an object inside of it. */
function uidIn(stored: Uint8Array): string {
  if (stored[0] !== openingBrace) return ''
  let depth = 1
  for (let at = 1; at < stored.length; at++) {
    const byte = stored[at]
    if (byte === openingBrace || byte === openingBracket) depth++
    if (byte === closingBrace || byte === closingBracket) depth--
    if (depth < metadataDepth && byte === closingBrace) return ''
    if (byte !== quote) continue
    const start = at + 1
    at = textEnd(stored, start)
    if (depth !== metadataDepth || at - start !== uidName.length || stored[at + 2] !== quote) continue
    if (stored[at + 1] !== colon || uidName.some((each, index) => stored[start + index] !== each)) continue
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length)
    return bytes.toString('latin1', at + 3, textEnd(stored, at + 3))
  }
  return ''
}

function textEnd(json: Uint8Array, start: number): number {
  let at = start
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}

/** Of the fields of metadata, which comes before all other objects. */
const metadataDepth = 2
const uidName = Buffer.from('uid')

/** Enough for the longest kind and apiVersion. */
const headBytesMax = 1_024

function resourceVersionField(stored: Uint8Array, at: number, revision: number): string {
  if (revision === 0) return ''
  return `"resourceVersion":"${revision}"${stored[at] === closingBrace ? '' : ','}`
}

const quote = 0x22
const colon = 0x3a
const backslash = 0x5c
const openingBracket = 0x5b
const closingBracket = 0x5d
const openingBrace = 0x7b
const closingBrace = 0x7d
