/**
 * Converts objects to the requested version, transformation (Table or PartialObjectMetadata) and media type.
 * Each encoding of an object version is computed once and shared.
 */
import { convertObject } from '#/api/conversion.ts'
import { encodedObject } from '#/api/encoded-object.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { encodeProtobuf } from '#/api/protobuf.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { mediaTypes, type Negotiated } from './negotiation.ts'
import { rulesOf } from './registry/resource-strategy.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'

export class View {
  readonly resource: Resource
  readonly negotiated: Negotiated
  /** Cache key of the encodings that this view produces. */
  readonly formName: string
  /** True if objects arrive in the version of the view: it is the storage version, or they were converted. */
  readonly #isConverted: boolean
  /** Cache key of the object in the version of the view. */
  readonly #valueName: string

  constructor(resource: Resource, negotiated: Negotiated) {
    this.resource = resource
    this.negotiated = negotiated
    const { format, transform, pretty } = negotiated
    const kind = transform ? `${transform.kind}/${transform.version}` : ''
    const { conversion } = rulesOf(resource)
    this.#valueName = `${apiVersionOf(resource)} ${conversion?.name ?? ''}`
    this.formName = `${this.#valueName} ${kind} ${format}${pretty ? ' pretty' : ''}`
    this.#isConverted =
      conversion !== undefined ||
      (resource.storage.version === resource.version && resource.storage.group === resource.group)
  }

  get mediaType(): string {
    return mediaTypes[this.negotiated.format]
  }

  /** The object in the version of the view, or as PartialObjectMetadata. */
  value(stored: StoredObject): KubernetesObject {
    const { transform } = this.negotiated
    if (transform !== undefined && transform.kind !== 'Table') {
      return stored.form(`${transform.kind}/${transform.version}`, () =>
        metadataOnly(stored.peek(), transform.version),
      )
    }
    if (this.#isConverted) return stored.object
    return stored.form(this.#valueName, () => convertObject(stored.peek(), this.resource))
  }

  /** True if the encoding is the stored JSON. */
  get isStored(): boolean {
    const { format, transform, pretty } = this.negotiated
    return this.#isConverted && format === 'json' && transform === undefined && !pretty
  }

  /** The value encoded in the media type of the view. */
  bytes(stored: StoredObject): Uint8Array {
    if (this.isStored) return stored.json
    return stored.form(this.formName, () => encodeValue(this.value(stored), this.negotiated))
  }

  /** The object is decoded only for callers within the process. Throws ApiError. */
  body(stored: StoredObject): ValueBody {
    stored.checkReadable()
    const valueOf = (): KubernetesObject => this.value(stored)
    return {
      type: 'value',
      mediaType: this.mediaType,
      get value() {
        return valueOf()
      },
      bytes: () => [this.bytes(stored)],
    }
  }
}

/** Encodes a value that is not stored: a Status, a list or a review. */
export function valueBody(value: object, negotiated: Pick<Negotiated, 'format' | 'pretty'>): ValueBody {
  return {
    type: 'value',
    mediaType: mediaTypes[negotiated.format],
    value,
    bytes: () => [encodeValue(value, negotiated)],
  }
}

export function encodeValue(
  value: object,
  { format, pretty }: Pick<Negotiated, 'format' | 'pretty'>,
): Uint8Array {
  const json = format === 'protobuf' ? null : (encodedObject(value) as JsonValue)
  switch (format) {
    case 'json':
      return Buffer.from(pretty ? `${prettyJson(json)}\n` : `${stringifyJson(json)}\n`)
    case 'yaml':
      return Buffer.from(stringifyYaml(json))
    case 'protobuf':
      return encodeProtobuf(value)
  }
}

export function prettyJson(value: JsonValue): string {
  return JSON.stringify(
    value,
    (_key, each: unknown) => (typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each),
    2,
  )
}

export function metadataOnly(object: KubernetesObject, version: 'v1' | 'v1beta1'): KubernetesObject {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: object.metadata,
  }
}
