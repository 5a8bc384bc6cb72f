/**
 * One version of one object: the value everybody shares, and its bytes, made once. The store keeps the JSON
 * without a resource version, since that is only known when the write is done; what is served has it spliced
 * in, not encoded again.
 */
import { assert } from '#/base/assert.ts'
import { keptJoin, keptText } from '#/base/kept-bytes.ts'
import { apiError } from '#/api/errors.ts'
import { parseJson, stringifyJson } from '#/api/json.ts'
import type { JsonValue } from '#/api/json-value.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'

export class StoredObject {
  /** The key in the store. */
  readonly key: string
  /** 0 of an object that is not in the store, which has no resource version either. */
  readonly revision: number
  /** The JSON in the store. */
  readonly #stored: Uint8Array
  #object: KubernetesObject | undefined
  #json: Uint8Array | undefined
  /** Other forms of this version (protobuf, rows of tables, other API versions) by name, each made once. */
  #forms: Map<string, unknown> | undefined

  constructor(key: string, revision: number, stored: Uint8Array, object?: KubernetesObject) {
    this.key = key
    this.revision = revision
    this.#stored = stored
    this.#object = object && withResourceVersion(object, revision)
  }

  /** As it is stored. */
  get sizeBytes(): number {
    return this.#stored.length
  }

  /** In the version it is stored in, with its resource version. Immutable. */
  get object(): KubernetesObject {
    this.#object ??= withResourceVersion(parseJson(this.#readable) as KubernetesObject, this.revision)
    return this.#object
  }

  /** The object as JSON, in the version it is stored in. */
  get json(): Uint8Array {
    this.#json ??= spliceResourceVersion(this.#readable, this.revision)
    return this.#json
  }

  /** Whether the JSON has this in it, wherever it is: cheaper to ask than to read the object. */
  contains(text: Uint8Array): boolean {
    return Buffer.from(this.#stored.buffer, this.#stored.byteOffset, this.#stored.length).includes(text)
  }

  /** What was encrypted with a key that is gone is not JSON. Only who asks for the object is told. */
  get #readable(): Uint8Array {
    if (this.#stored[0] === openingBrace) return this.#stored
    throw apiError('StorageReadError', `${this.key} cannot be read: its value in the store is not JSON`)
  }

  /** The same content under another revision: what a deletion tells of the object that is gone. */
  at(revision: number): StoredObject {
    return new StoredObject(this.key, revision, this.#stored, this.#object)
  }

  /** Lets go of all but the bytes in the store, from which the rest is made again when somebody asks. */
  slim(): void {
    this.#object = undefined
    this.#json = undefined
    this.#forms = undefined
  }

  /** Another form of the object, made at the first use and kept as long as the object is. */
  form<T>(name: string, make: (object: KubernetesObject) => T): T {
    this.#forms ??= new Map()
    const known = this.#forms.get(name)
    if (known !== undefined) return known as T
    const made = make(this.object)
    this.#forms.set(name, made)
    return made
  }
}

/**
 * The bytes to store. Kind, version and metadata come first, so that the place of the resource version is
 * found without parsing.
 */
export function encodeForStore(object: KubernetesObject): Uint8Array {
  const { kind, apiVersion, metadata, ...rest } = object
  const { resourceVersion: _, ...kept } = metadata ?? {}
  return keptText(stringifyJson({ kind, apiVersion, metadata: kept, ...rest } as unknown as JsonValue))
}

function withResourceVersion<T extends KubernetesObject>(object: T, revision: number): T {
  if (revision === 0) return withoutResourceVersion(object)
  const metadata: ObjectMeta = { ...object.metadata, resourceVersion: String(revision) }
  return { ...object, metadata }
}

function withoutResourceVersion<T extends KubernetesObject>(object: T): T {
  const { resourceVersion: _, ...metadata } = object.metadata ?? {}
  return { ...object, metadata }
}

const metadataStart = Buffer.from('"metadata":{')

/** Where stored metadata begins at the latest: after the longest kind and apiVersion. */
const headBytesMax = 1_024

function spliceResourceVersion(stored: Uint8Array, revision: number): Uint8Array {
  if (revision === 0) return stored
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length)
  const found = bytes.subarray(0, headBytesMax).indexOf(metadataStart)
  assert(found !== -1, 'a stored object begins with its kind, version and metadata')
  const at = found + metadataStart.length
  const isEmpty = bytes[at] === closingBrace
  const version = Buffer.from(`"resourceVersion":"${revision}"${isEmpty ? '' : ','}`)
  return keptJoin([bytes.subarray(0, at), version, bytes.subarray(at)])
}

const openingBrace = 0x7b
const closingBrace = 0x7d
